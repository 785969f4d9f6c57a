import { decodeDocument, type EntityDocument, type Json } from "./entity-document.js";
import { type EntitySources, findEntities } from "./find-entities.js";
import type { HashIdentity, Identity } from "./identity.js";
import type { MembershipIndex } from "./membership-index.js";
import type { Sealing } from "./sealed.js";
import type { SegmentNames } from "./segment-names.js";
import type { Table } from "./tables.js";

export interface ReadParts extends EntitySources {
  readonly memberships: MembershipIndex;
  readonly segments: SegmentNames;
  readonly sealing: Sealing;
  readonly hashIdentity: HashIdentity;
}

/** An entity as it is read. */
export interface Profile {
  /** By name; an identity field is a string, or an array of strings when the entity has several values of it. */
  readonly attributes: ReadonlyMap<string, Json>;
  /** Names of the segments it belongs to, each once, in code unit order; undefined when they were not asked for. */
  readonly segments: readonly string[] | undefined;
}

/** The entity that an identity leads to; undefined when there is none, or it is being erased. */
export type ReadEntity = (
  table: Table,
  identity: Identity,
  options: { readonly segments: boolean },
) => Promise<Profile | undefined>;

/** Reading from these stores. */
export function readEntity(parts: ReadParts): ReadEntity {
  return async (table, identity, options) => {
    const hash = parts.hashIdentity(table.name, identity);
    const entity = (await findEntities(parts, [hash], [])).ownerOf(hash);
    if (entity === undefined) return undefined;
    const segments = options.segments ? await segmentNames(parts, entity.id) : undefined;
    const [plain] = await parts.sealing.open([{ entity: entity.id, sealed: entity.sealed }]);
    if (plain === undefined) return undefined;
    return { attributes: attributesOf(decodeDocument(plain), table), segments };
  };
}

async function segmentNames({ memberships, segments }: ReadParts, entity: string): Promise<string[]> {
  const ids = await memberships.segmentsOf(entity);
  const names = await segments.names(ids);
  return [...new Set(ids.flatMap((id) => names.get(id) ?? []))].sort();
}

function attributesOf({ attributes, identities }: EntityDocument, table: Table): Map<string, Json> {
  const read = new Map<string, Json>();
  for (const { name } of table.identities) {
    const values = identities.filter(({ field }) => field === name).map(({ value }) => value);
    if (values.length > 0) read.set(name, values.length === 1 ? (values[0] as string) : values);
  }
  for (const [name, { value }] of attributes) if (value !== undefined) read.set(name, value);
  return read;
}
