import { identityField, identityOf } from "../../entities/identity.js";
import type { Profile, ReadEntity } from "../../entities/read-entity.js";
import { type Table, type Tables, tableNamed } from "../../entities/tables.js";
import { ServiceError } from "../../errors.js";
import type { Api, ApiContext } from "../api-router.js";
import { succeed } from "../envelope.js";
import { readFlag, readQuery } from "../query.js";

export interface EntityRouteParts {
  readonly read: ReadEntity;
  readonly tables: Tables;
  /** `limits.identity_bytes`. */
  readonly identityBytes: number;
}

const QUERY = ["fields", "segments", "meta", "download"] as const;

/** Reading one entity. To be added after the deletion routes: `deletestatus` is no table. */
export function entityRoutes(api: Api, parts: EntityRouteParts): void {
  const byField = (ctx: ApiContext) => answer(ctx, parts, ctx.params.table, ctx.params.fieldname);
  const byDefault = (ctx: ApiContext) => answer(ctx, parts, ctx.params.table, undefined);
  const ofUser = (ctx: ApiContext) => answer(ctx, parts, "user", ctx.params.fieldname);
  const more = { query: QUERY, openQuery: true };
  api
    .add("GET", "/api/entity/:table/:fieldname/:fieldval", ["entity:read"], byField, more)
    .add("GET", "/api/entity/:table/:fieldval", ["entity:read"], byDefault, more)
    .add("GET", "/api/me/:fieldname/:fieldval", ["entity:read"], ofUser, more);
}

async function answer(
  ctx: ApiContext,
  { read, tables, identityBytes }: EntityRouteParts,
  tableName = "",
  fieldName?: string,
): Promise<void> {
  ctx.set("Cache-Control", "no-store");
  const table = tableNamed(tables, tableName);
  const field = identityField(table, fieldName ?? table.defaultIdentity);
  const query = readQuery(ctx, QUERY);
  const segments = readFlag(query.segments, "segments") ?? true;
  const meta = readFlag(query.meta, "meta") ?? true;
  const download = readFlag(query.download, "download") ?? false;
  const identity = identityOf(table, field, ctx.params.fieldval, identityBytes);

  const profile = await read(table, identity, { segments });
  if (profile === undefined) throw new ServiceError("not-found", "Not Found");
  if (download) ctx.attachment(`${table.name}.json`);
  succeed(ctx, dataOf(profile, query.fields), meta ? { meta: metaOf(table) } : {});
  if (download) ctx.type = "application/json";
}

/** The attributes asked for, and the segments. Names are the sender's choice, so none is ever assigned. */
function dataOf({ attributes, segments }: Profile, fields: string | undefined): object {
  const wanted = fields === undefined || fields === "" ? undefined : new Set(fields.split(","));
  const entries = [...attributes].filter(([name]) => wanted?.has(name) ?? true);
  return Object.fromEntries(segments === undefined ? entries : [...entries, ["segments", segments]]);
}

function metaOf({ name, identities }: Table): object {
  return { by_fields: identities.map((field) => field.name), format: "json", name };
}
