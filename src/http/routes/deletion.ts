import type { Clock } from "../../clock.js";
import { type Deletion, isStuck, stageOf } from "../../deletions/deletion.js";
import type { Ledger } from "../../deletions/ledger.js";
import { type Identity, identityField, identityOf } from "../../entities/identity.js";
import { type Tables, tableNamed } from "../../entities/tables.js";
import { invalid, ServiceError } from "../../errors.js";
import type { Failpoint } from "../../failpoint.js";
import type { Api, ApiContext } from "../api-router.js";
import { succeed } from "../envelope.js";
import { PAGE_QUERY, readPage } from "../page.js";
import { readFlag, readQuery } from "../query.js";
import { requestIdPattern } from "../schemas/deletion.js";
import { listPage } from "../schemas/page.js";

export interface DeletionRouteParts {
  readonly ledger: Ledger;
  readonly tables: Tables;
  /** `limits.identity_bytes`. */
  readonly identityBytes: number;
  readonly clock: Clock;
  /** Accepts the deletion of whoever has this identity, and answers its request id. */
  requestDeletion(table: string, identity: Identity): Promise<string>;
  /** Says that a request can be run; may be lost. */
  hint(requestId: string): void;
  readonly failpoint: Failpoint;
}

/** The same whoever was asked for, and whatever became of it. */
const MESSAGE = "Delete request received";
const REQUEST_ID = new RegExp(requestIdPattern);

/** Deletion of entities. To be added before the entity reads: `deletestatus` is no table. */
export function addDeletionRoutes(api: Api, parts: DeletionRouteParts): void {
  api
    .add("GET", "/api/entity/deletestatus/:request_id", ["entity:delete", "entity:read"], (ctx) =>
      readStatus(ctx, parts),
    )
    .add("DELETE", "/api/entity/:table/:fieldname/:fieldval", ["entity:delete"], (ctx) => acceptDeletion(ctx, parts))
    .add("GET", "/api/deletion", ["admin"], (ctx) => listOpen(ctx, parts), { query: ["completed", ...PAGE_QUERY] });
}

async function acceptDeletion(ctx: ApiContext, parts: DeletionRouteParts): Promise<void> {
  ctx.set("Cache-Control", "no-store");
  const { table: name = "", fieldname = "", fieldval = "" } = ctx.params;
  const table = tableNamed(parts.tables, name);
  const identity = identityOf(table, identityField(table, fieldname), fieldval, parts.identityBytes);
  const requestId = await parts.requestDeletion(table.name, identity);
  ctx.res.once("close", () => {
    parts.failpoint("K3");
    parts.hint(requestId);
    parts.failpoint("K4");
  });
  succeed(ctx, { request_id: requestId, completed: false }, { message: MESSAGE });
}

async function readStatus(ctx: ApiContext, { ledger }: DeletionRouteParts): Promise<void> {
  ctx.set("Cache-Control", "no-store");
  const { request_id: id = "" } = ctx.params;
  const deletion = REQUEST_ID.test(id) ? await ledger.find(id) : undefined;
  if (deletion === undefined) throw new ServiceError("not-found", "Not Found");
  const completed = deletion.completedAt !== undefined;
  succeed(ctx, { request_id: deletion.requestId, completed }, { message: MESSAGE });
}

async function listOpen(ctx: ApiContext, { ledger, clock }: DeletionRouteParts): Promise<void> {
  ctx.set("Cache-Control", "no-store");
  if (readFlag(readQuery(ctx, ["completed"]).completed, "completed") === true) {
    throw invalid("not_listed", "completed", "completed is false: open requests alone are listed");
  }
  const { after, limit } = readPage(ctx, listPage);
  if (after !== undefined && !REQUEST_ID.test(after)) throw invalid("invalid_id", "after", "after is a request id");
  const open = await ledger.open({ limit, ...(after === undefined ? {} : { after }) });
  const now = clock();
  const next = open.length === limit ? (open.at(-1)?.requestId ?? null) : null;
  succeed(
    ctx,
    open.map((deletion) => listed(deletion, now)),
    { meta: { next } },
  );
}

function listed(deletion: Deletion, now: number) {
  return {
    request_id: deletion.requestId,
    accepted_at: String(Math.floor(deletion.acceptedAt)),
    age_seconds: Math.max(0, Math.floor((now - deletion.acceptedAt) / 1000)),
    stage: stageOf(deletion),
    attempts: deletion.attempts,
    stuck: isStuck(deletion),
  };
}
