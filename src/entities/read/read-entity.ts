import type { CatalogueStore } from "../../catalogue/ports.js";
import type { Reservation } from "../../memory-budget.js";
import type { EntityKeys, EntityStore } from "../ports.js";
import { type EntityId, type Memberships, type StoredEntity, segmentsIn } from "../profile/entity.js";
import { decodeDocument, type EntityDocument, type Json } from "../profile/entity-document.js";
import type { Table } from "../profile/entity-tables.js";
import { type HashIdentity, type Identity, type IdentityHash, valuesByField } from "../profile/identity.js";
import { type UnsealDependencies, unsealProfile, yieldIfLarge } from "./unseal-profile.js";

export interface ReadDependencies extends UnsealDependencies {
  readonly entities: Pick<EntityStore, "find">;
  readonly segments: Pick<CatalogueStore, "segmentsById">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly hashIdentity: HashIdentity;
}

/** An entity as returned by a read. */
export interface Profile {
  /** Attributes by name. An identity field is a string, or an array of strings when the entity has several values. */
  readonly attributes: ReadonlyMap<string, Json>;
  /** Names of its segments, without duplicates, in code unit order; undefined when not requested. */
  readonly segments: readonly string[] | undefined;
  /** Arrivals of its first message and of the newest one that changed it, Unix ms. */
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** Names of the streams of its messages, in code unit order. */
  readonly streams: readonly string[];
}

/**
 * Returns the entity with this identity; undefined when there is none or it is being erased. Rejects as `unsealProfile`
 * does.
 */
export async function readEntity(
  dependencies: ReadDependencies,
  table: Table,
  identity: Identity,
  options: { readonly segments: boolean },
  memory: Reservation,
): Promise<Profile | undefined> {
  const { entities, segments, entityKeys, hashIdentity } = dependencies;
  const entity = await liveOwner(entities, hashIdentity(table.name, identity));
  if (entity === undefined) return undefined;
  const [keys, names] = await Promise.all([
    entityKeys.read([entity.id]),
    options.segments ? segmentNames(segments, entity.memberships) : undefined,
  ]);
  return unsealProfile(dependencies, keys, entity, memory, async (plain) => {
    const document = decodeDocument(plain);
    await yieldIfLarge(plain);
    return {
      attributes: attributesOf(document, table),
      segments: names,
      createdAt: entity.born,
      modifiedAt: document.modified ?? entity.born,
      streams: document.streams,
    };
  });
}

/**
 * Returns the live profile of an identity. After a concurrent merge it searches again, because the identity has another
 * owner by then.
 */
export async function liveOwner(
  entities: ReadDependencies["entities"],
  hash: IdentityHash,
): Promise<StoredEntity | undefined> {
  let before: EntityId | undefined;
  for (;;) {
    const { owners, profiles } = await entities.find([hash]);
    const owner = owners.get(hash);
    if (owner === undefined) return undefined;
    const entity = profiles.get(owner);
    if (entity !== undefined || owner === before) return entity;
    before = owner;
  }
}

async function segmentNames(segments: ReadDependencies["segments"], memberships: Memberships): Promise<string[]> {
  const ids = segmentsIn(memberships);
  if (ids.length === 0) return [];
  const named = await segments.segmentsById(ids);
  return [...new Set(Array.from(named.values(), ({ name }) => name))].sort();
}

/** Returns attributes by name. An identity field is a text, or an array of texts when the entity has several values. */
export function attributesOf(
  { attributes, identities }: EntityDocument,
  table: Pick<Table, "identities">,
): Map<string, Json> {
  const read = new Map<string, Json>();
  const values = valuesByField(identities);
  for (const { name } of table.identities) {
    const found = values.get(name);
    if (found !== undefined) read.set(name, found.length === 1 ? (found[0] as string) : found);
  }
  for (const [name, { value }] of attributes) if (value !== undefined) read.set(name, value);
  return read;
}
