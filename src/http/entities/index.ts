import { type Static, Type } from "@sinclair/typebox";
import type { Table } from "../../entities/profile/entity-tables.js";
import { type Profile, type ReadEntity, type ReadParts, readEntity } from "../../entities/read/read-entity.js";
import { found } from "../../errors.js";
import { exampleNames } from "../core/openapi.js";
import { success, Time, timeText } from "../core/responses.js";
import { type ApiContext, type Route, route } from "../core/route.js";
import { type AccountRouteParts, accountRoutes } from "./account.js";
import { type MemberRouteParts, memberRoutes } from "./members.js";
import { entityPath, type NamedEntity, namedIdentity } from "./named-entity.js";

export type EntityRouteParts = AccountRouteParts & ReadParts & MemberRouteParts;

interface Reading extends Pick<EntityRouteParts, "tables" | "identityBytes"> {
  readonly read: ReadEntity;
}

const entityQuery = {
  fields: Type.Optional(
    Type.String({ description: "Names of the attributes to return, divided by commas. All by default." }),
  ),
  segments: Type.Boolean({ default: true, description: "Whether to include the segments." }),
  meta: Type.Boolean({ default: true, description: "Whether to include `meta`." }),
  download: Type.Boolean({ default: false, description: "Whether the answer is to be saved as a file." }),
};

const Entity = Type.Object(
  {
    segments: Type.Optional(
      Type.Array(Type.String(), {
        description: "Names of the segments it belongs to, in code unit order; absent with `segments=false`.",
      }),
    ),
  },
  {
    title: "Entity",
    description: "The entity: its attributes by name, as they were sent, and the segments it belongs to.",
    additionalProperties: Type.Unknown({
      description:
        "Any JSON value. An identity field is a string, or an array of strings when there are several values.",
    }),
  },
);

const EntityMeta = Type.Object(
  {
    by_fields: Type.Array(Type.String(), { description: "Identity fields of the table." }),
    format: Type.String({ const: "json" }),
    name: Type.String({ description: "The table." }),
    created_at: Time("When its first message arrived."),
    modified_at: Time("When the newest message arrived that changed it."),
    streams: Type.Array(Type.String(), { description: "Names of the streams of its messages, in code unit order." }),
  },
  { title: "EntityMeta", additionalProperties: false },
);

export const entityAnswer = success("EntityAnswer", Entity, { meta: Type.Optional(EntityMeta) });

const { table, fieldname, fieldval } = entityPath;

/** What is the same of every route that reads an entity. */
const reading = {
  method: "GET",
  scopes: ["entity:read"],
  query: entityQuery,
  unknownQuery: "ignore",
  responses: { 200: entityAnswer },
} as const;

/** Reading one entity. */
export function entityRoutes(parts: EntityRouteParts): readonly Route[] {
  const readers = { ...parts, read: readEntity(parts) };
  return [
    ...accountRoutes(parts),
    ...memberRoutes(parts),
    route({
      ...reading,
      path: "/api/entity/:table/:fieldname/:fieldval",
      docs: { id: "readEntity", tag: "entities", summary: "Read an entity" },
      params: { table, fieldname, fieldval },
      handler: ({ ctx, params, query }) => readOne(ctx, readers, params, query),
    }),
    route({
      ...reading,
      path: "/api/entity/:table/:fieldval",
      docs: {
        id: "readEntityByDefaultIdentity",
        tag: "entities",
        summary: "Read an entity by the table's default identity",
      },
      params: { table, fieldval: { ...fieldval, examples: [exampleNames.defaultValue] } },
      handler: ({ ctx, params, query }) => readOne(ctx, readers, params, query),
    }),
    route({
      ...reading,
      path: "/api/me/:fieldname/:fieldval",
      docs: { id: "readUser", tag: "entities", summary: "Read a user" },
      params: { fieldname, fieldval },
      handler: ({ ctx, params, query }) => readOne(ctx, readers, { table: "user", ...params }, query),
    }),
  ];
}

const Query = Type.Object(entityQuery);

async function readOne(
  ctx: ApiContext,
  { read, tables, identityBytes }: Reading,
  named: NamedEntity,
  { fields, segments, meta, download }: Static<typeof Query>,
) {
  const { table, identity } = namedIdentity(named, tables, identityBytes);
  const profile = found(await read(table, identity, { segments }));
  if (download) {
    ctx.attachment(`${table.name}.json`);
    ctx.type = "application/json";
  }
  return { data: dataOf(profile, fields), ...(meta ? { meta: metaOf(table, profile) } : {}) };
}

/** The attributes asked for, and the segments. Names are the sender's choice, so none is ever assigned. */
function dataOf({ attributes, segments }: Profile, fields: string | undefined): object {
  const wanted = fields === undefined || fields === "" ? undefined : new Set(fields.split(","));
  const entries = [...attributes].filter(([name]) => wanted?.has(name) ?? true);
  return Object.fromEntries(segments === undefined ? entries : [...entries, ["segments", segments]]);
}

function metaOf({ name, identities }: Table, { createdAt, modifiedAt, streams }: Profile) {
  return {
    by_fields: identities.map((field) => field.name),
    format: "json",
    name,
    created_at: timeText(createdAt),
    modified_at: timeText(modifiedAt),
    streams: [...streams],
  };
}
