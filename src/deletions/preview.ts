import type { History } from "../entities/ports.js";
import { idsOf } from "../entities/profile/entity.js";
import type { Identity } from "../entities/profile/identity.js";
import { segmentsIn } from "../entities/profile/memberships.js";
import { expandScope, type ScopeDependencies } from "./scope.js";

export interface PreviewDependencies extends ScopeDependencies {
  readonly history: Pick<History, "countByStream">;
  readonly targets: readonly { readonly name: string }[];
}

/** What an erasure would remove, in counts. */
export interface DeletionPreview {
  /** Live ones. */
  readonly profiles: number;
  /** By identity field. */
  readonly identities: ReadonlyMap<string, number>;
  /** By stream. */
  readonly messages: ReadonlyMap<string, number>;
  readonly segments: number;
  /** Names of what a request accepted now is for. */
  readonly targets: readonly string[];
}

/** What a deletion by this identity would remove now (Unix ms); undefined when it leads to no live profile. Changes nothing. */
export async function previewDeletion(
  dependencies: PreviewDependencies,
  table: string,
  identity: Identity,
  now: number,
): Promise<DeletionPreview | undefined> {
  const scope = await expandScope(dependencies, dependencies.hashIdentity(table, identity), now);
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
