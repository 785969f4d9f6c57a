import type { History } from "../entities/ports.js";
import { idsOf, segmentsIn } from "../entities/profile/entity.js";
import type { Identity } from "../entities/profile/identity.js";
import type { Reservation } from "../memory-budget.js";
import { expandScope, type ScopeDependencies } from "./scope.js";

export interface PreviewDependencies extends ScopeDependencies {
  readonly history: Pick<History, "countByStream">;
  readonly targets: readonly { readonly name: string }[];
}

/**
 * Returns the number of live profiles, identities by field, messages by stream and segments that a deletion of this
 * identity would erase now, and the names of its targets; undefined without a live profile. Changes nothing.
 */
export async function previewDeletion(
  dependencies: PreviewDependencies,
  table: string,
  identity: Identity,
  memory: Reservation,
) {
  const scope = await expandScope(dependencies, dependencies.hashIdentity(table, identity), memory);
  if (scope.profiles.length === 0) return undefined;
  const identities = new Map<string, number>();
  for (const { field } of scope.identities) identities.set(field, (identities.get(field) ?? 0) + 1);
  return {
    profiles: scope.profiles.length,
    identities: Object.fromEntries(identities),
    messages: Object.fromEntries(await dependencies.history.countByStream(scope.profiles.flatMap(idsOf))),
    segments: new Set(scope.profiles.flatMap(({ memberships }) => segmentsIn(memberships))).size,
    targets: dependencies.targets.map(({ name }) => name),
  };
}
