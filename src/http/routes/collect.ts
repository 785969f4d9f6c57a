import type { Clock } from "../../clock.js";
import type { Limits } from "../../config.js";
import type { CollectRequest, CollectTally } from "../../entities/collect-request.js";
import type { MessageRules } from "../../entities/parse-message.js";
import { type Table, type Tables, tableNamed } from "../../entities/tables.js";
import { invalid, ServiceError } from "../../errors.js";
import { parseInstant } from "../../formats/instant.js";
import { dimensionIdRule, isDimensionId } from "../../metrics/dimension-id.js";
import { streamNamePattern } from "../../metrics/dimensions/stream.js";
import { RESERVED_SEGMENT_IDS } from "../../reserved-names.js";
import type { Api, ApiContext } from "../api-router.js";
import { succeed } from "../envelope.js";
import { readFlag, readQuery } from "../query.js";
import { type MessageLimits, readMessages } from "../read-messages.js";

export interface CollectRouteParts {
  collect(request: CollectRequest): Promise<CollectTally>;
  readonly tables: Tables;
  readonly limits: MessageLimits & Pick<Limits, "identity_bytes" | "nesting">;
  readonly clock: Clock;
}

const QUERY = ["table", "timestamp_field", "dryrun"] as const;
const STREAM_NAME = new RegExp(streamNamePattern);
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,256}$/;

/** Taking in messages about entities. When the answer goes out they are durable, applied and counted. */
export function collectRoutes(api: Api, { collect, tables, limits, clock }: CollectRouteParts): void {
  const take = async (ctx: ApiContext) => {
    ctx.set("Cache-Control", "no-store");
    const { stream = "" } = ctx.params;
    if (!STREAM_NAME.test(stream)) {
      throw invalid("invalid_stream", "stream", "A stream name is 1 to 128 of letters, digits, _ . -");
    }
    const query = readQuery(ctx, QUERY);
    const { table: name = "user", timestamp_field } = query;
    const dryRun = readFlag(query.dryrun, "dryrun") ?? false;
    const table = tableNamed(tables, name);
    const rules = rulesOf(table, timestamp_field, limits, clock());
    const repeatName = repeatNameOf(ctx);
    const { single, items } = await readMessages(ctx, rules, limits);
    const tally = await collect({ stream, table, items, repeatName, dryRun });
    if (single && tally.rejected_count > 0) {
      throw new ServiceError("invalid", "The message was rejected", { problems: tally.errors });
    }
    succeed(ctx, tally);
  };
  api.add("POST", "/collect/json/:stream", ["entity:write"], take, { query: QUERY });
}

function rulesOf(
  table: Table,
  timestampField: string | undefined,
  limits: CollectRouteParts["limits"],
  now: number,
): MessageRules {
  if (timestampField === "" || timestampField === "segments") {
    throw invalid("invalid_timestamp_field", "timestamp_field", "Must be the name of an attribute");
  }
  return {
    table,
    timestampField,
    identityBytes: limits.identity_bytes,
    nesting: limits.nesting,
    segmentId: {
      allows: (id) => isDimensionId(id) && !RESERVED_SEGMENT_IDS.includes(id),
      inWords: `${dimensionIdRule}, not ${RESERVED_SEGMENT_IDS.join(" or ")}`,
    },
    eventTime(written) {
      const instant = parseInstant(written, now);
      return instant === undefined || instant.relative ? undefined : instant.at;
    },
  };
}

/** What tells this request apart from others; undefined when it has no Idempotency-Key. */
function repeatNameOf(ctx: ApiContext): string | undefined {
  const key = ctx.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !IDEMPOTENCY_KEY.test(key)) {
    throw invalid("invalid_idempotency_key", "Idempotency-Key", "Must be 1 to 256 printable characters");
  }
  return JSON.stringify([ctx.state.keyId, ctx.path, ctx.querystring, key]);
}
