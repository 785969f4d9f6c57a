import type { History } from "../entities/ports.js";
import { idsOf } from "../entities/profile/entity.js";
import type { Identity } from "../entities/profile/identity.js";
import { segmentsIn } from "../entities/profile/memberships.js";
import type { Reservation } from "../memory-budget.js";
import { expandScope, type ScopeDependencies } from "./scope.js";

export interface PreviewDependencies extends ScopeDependencies {
  readonly history: Pick<History, "countByStream">;
  readonly targets: readonly { readonly name: string }[];
}

/** Counts of the data that a deletion would erase. */
export interface DeletionPreview {
  /** Number of live profiles. */
  readonly profiles: number;
  /** Number of identities by field. */
  readonly identities: ReadonlyMap<string, number>;
  /** Number of messages by stream. */
  readonly messages: ReadonlyMap<string, number>;
  readonly segments: number;
  /** Names of the targets of new requests. */
  readonly targets: readonly string[];
}

/**
 * Returns the amount of data that a deletion of this identity would erase now; undefined without a live profile.
 * Changes nothing.
 */
export async function previewDeletion(
  dependencies: PreviewDependencies,
  table: string,
  identity: Identity,
  memory: Reservation,
): Promise<DeletionPreview | undefined> {
  const scope = await expandScope(dependencies, dependencies.hashIdentity(table, identity), memory);
  if (scope.profiles.length === 0) return undefined;
  const identities = new Map<string, number>();
  for (const { field } of scope.identities) identities.set(field, (identities.get(field) ?? 0) + 1);
  return {
    profiles: scope.profiles.length,
    identities,
    messages: await dependencies.history.countByStream(scope.profiles.flatMap(idsOf)),
    segments: new Set(scope.profiles.flatMap(({ memberships }) => segmentsIn(memberships))).size,
    targets: dependencies.targets.map(({ name }) => name),
  };
}
