import type { EntityStore, Suppression } from "../ports.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity } from "../profile/identity.js";

export interface KnownValuesDependencies {
  readonly entities: Pick<EntityStore, "find">;
  readonly suppression: Pick<Suppression, "erased">;
  readonly hashIdentity: HashIdentity;
}

/**
 * Returns which of the values of an identity field, in normal form, belong to an entity. An entity whose deletion was
 * accepted does not count. `by` is the only field that the key of the request may use; undefined: all. No other field
 * is looked up, and none of its values is returned.
 */
export async function knownValues(
  { entities, suppression, hashIdentity }: KnownValuesDependencies,
  by: string | undefined,
  table: Table,
  field: string,
  values: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (values.size === 0 || (by !== undefined && by !== field)) return new Set();
  const byHash = new Map(Array.from(values, (value) => [hashIdentity(table.name, { field, value }), value]));
  const { owners } = await entities.find([...byHash.keys()]);
  const erased = await suppression.erased([...new Set(owners.values())]);
  return new Set([...owners].flatMap(([hash, owner]) => (erased.has(owner) ? [] : (byHash.get(hash) ?? []))));
}
