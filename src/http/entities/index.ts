import { type Static, Type } from "@sinclair/typebox";
import type { Table } from "../../entities/profile/entity-tables.js";
import { type Profile, type ReadDependencies, readEntity } from "../../entities/read/read-entity.js";
import { found } from "../../errors.js";
import { timeText } from "../../formats/instant.js";
import { exampleNames } from "../core/openapi.js";
import { success, Time } from "../core/responses.js";
import { type ApiContext, type Route, route, type Within } from "../core/route.js";
import { type AccountRouteDependencies, accountRoutes } from "./account.js";
import { type AttributeRouteDependencies, attributeRoutes } from "./attributes.js";
import { type MemberRouteDependencies, memberRoutes } from "./members.js";
import { entityPath, type NamedEntity, namedIdentity } from "./named-entity.js";

export type EntityRouteDependencies = AccountRouteDependencies &
  ReadDependencies &
  MemberRouteDependencies &
  AttributeRouteDependencies;

const entityQuery = {
  fields: Type.Optional(Type.String({ description: "Attributes to return, separated by commas. Default: all." })),
  segments: Type.Boolean({ default: true, description: "Whether to include the segments." }),
  meta: Type.Boolean({ default: true, description: "Whether to include `meta`." }),
  download: Type.Boolean({ default: false, description: "Whether the response is a file download." }),
};

const Entity = Type.Object(
  {
    segments: Type.Optional(
      Type.Array(Type.String(), {
        description: "Names of its segments, in code unit order; absent with `segments=false`.",
      }),
    ),
  },
  {
    title: "Entity",
    description: "The entity: its attributes by name, as sent, and its segments.",
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
    name: Type.String({ description: "Name of the table." }),
    created_at: Time("Arrival of its first message."),
    modified_at: Time("Arrival of the newest message that changed it."),
    streams: Type.Array(Type.String(), { description: "Names of the streams of its messages, in code unit order." }),
  },
  { title: "EntityMeta", additionalProperties: false },
);

export const entityAnswer = success("EntityAnswer", Entity, { meta: Type.Optional(EntityMeta) });

const { table, fieldname, fieldval } = entityPath;

/** Common part of the routes that read an entity. */
const reading = {
  method: "GET",
  scopes: ["entity:read"],
  query: entityQuery,
  unknownQuery: "ignore",
  responses: { 200: entityAnswer },
} as const;

const readDescription =
  "Use it to read a profile with its segments. Attributes, segments and `meta` that the bound `fields` of the key does not name are absent. Errors: 400 `not_an_identity`, `invalid_identity`; 403 `forbidden` if the key is bound to another identity field; 404 `unknown_table`, `not_found`.";

/** Bounds of a read by the field in its path; `readOne` omits attributes that the key may not read. */
const byNamedField: Within = { fields: () => true, by: (by, { fieldname }) => fieldname === by };

/** Routes that read one entity. */
export function entityRoutes(dependencies: EntityRouteDependencies): readonly Route[] {
  return [
    ...accountRoutes(dependencies),
    ...memberRoutes(dependencies),
    ...attributeRoutes(dependencies),
    route({
      ...reading,
      path: "/api/entity/:table/:fieldname/:fieldval",
      within: byNamedField,
      docs: { id: "readEntity", tag: "entities", summary: "Read an entity", description: readDescription },
      params: { table, fieldname, fieldval },
      handler: ({ ctx, params, query }) => readOne(ctx, dependencies, params, query),
    }),
    route({
      ...reading,
      path: "/api/entity/:table/:fieldval",
      within: {
        fields: () => true,
        by: (by, { table = "" }) => (dependencies.tables.get(table)?.defaultIdentity ?? by) === by,
      },
      docs: {
        id: "readEntityByDefaultIdentity",
        tag: "entities",
        summary: "Read an entity by its default identity",
        description: readDescription,
      },
      params: { table, fieldval: { ...fieldval, examples: [exampleNames.defaultValue] } },
      handler: ({ ctx, params, query }) => readOne(ctx, dependencies, params, query),
    }),
    route({
      ...reading,
      path: "/api/me/:fieldname/:fieldval",
      within: byNamedField,
      docs: {
        id: "readUser",
        tag: "entities",
        summary: "Read a user",
        description: `${readDescription} The table is \`user\`.`,
      },
      params: { fieldname, fieldval },
      handler: ({ ctx, params, query }) => readOne(ctx, dependencies, { table: "user", ...params }, query),
    }),
  ];
}

const Query = Type.Object(entityQuery);

async function readOne(
  ctx: ApiContext,
  dependencies: EntityRouteDependencies,
  named: NamedEntity,
  { fields, segments, meta, download }: Static<typeof Query>,
) {
  const { tables } = dependencies;
  const { table, identity } = namedIdentity(named, tables);
  const { bounds, memory } = ctx.state;
  const mayReturn = (name: string) => bounds.fields?.includes(name) ?? true;
  const withSegments = segments && mayReturn("segments");
  const profile = found(await readEntity(dependencies, table, identity, { segments: withSegments }, memory), "entity");
  if (download) {
    ctx.attachment(`${table.name}.json`);
    ctx.type = "application/json";
  }
  const data = dataOf(profile, fields, mayReturn);
  return { data, ...(meta && mayReturn("meta") ? { meta: metaOf(table, profile) } : {}) };
}

/**
 * Returns the requested attributes that the key may read, and the segments. Names are chosen by senders, so properties
 * are never assigned.
 */
function dataOf(
  { attributes, segments }: Profile,
  fields: string | undefined,
  mayReturn: (name: string) => boolean,
): object {
  const wanted = fields === undefined || fields === "" ? undefined : new Set(fields.split(","));
  const entries = [...attributes].filter(([name]) => mayReturn(name) && (wanted?.has(name) ?? true));
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
