import type { EntityStore, LoadedEntities } from "../ports.js";
import type { EntityId } from "../profile/entity.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity } from "../profile/identity.js";

export interface KnownValuesDependencies {
  readonly entities: Pick<EntityStore, "find" | "load">;
  readonly hashIdentity: HashIdentity;
}

/**
 * Returns which of the values of an identity field, in normal form, belong to an entity. An entity whose deletion was
 * accepted does not count. `by` is the only field that the key of the request may use; undefined: all. No other field
 * is looked up, and none of its values is returned.
 */
export async function knownValues(
  { entities, hashIdentity }: KnownValuesDependencies,
  by: string | undefined,
  table: Table,
  field: string,
  values: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (values.size === 0 || (by !== undefined && by !== field)) return new Set();
  const byHash = new Map(Array.from(values, (value) => [hashIdentity(table.name, { field, value }), value]));
  const { owners, ...found } = await entities.find([...byHash.keys()]);
  const live = new Set<EntityId>();
  // A deletion of an unknown identity leaves an owner without a profile on MongoDB.
  for (let page: LoadedEntities = found; ; page = await entities.load(page.left)) {
    for (const id of page.profiles.keys()) live.add(id);
    if (page.left.length === 0) break;
  }
  return new Set([...owners].flatMap(([hash, owner]) => (live.has(owner) ? (byHash.get(hash) ?? []) : [])));
}
