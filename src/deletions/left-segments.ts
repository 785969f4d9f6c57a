import { concerns, type Hook, type Outbox, type OutboxRow } from "../entities/outbox.js";
import { idsOf } from "../entities/profile/entity.js";
import { segmentsIn } from "../entities/profile/memberships.js";
import type { DeletionSubject, ScopeSnapshot } from "./ports.js";
import type { DeletionScope } from "./scope.js";

export interface LeftSegmentDependencies {
  readonly outbox: Pick<Outbox, "of" | "erase">;
  readonly hooks: readonly Hook[];
}

/**
 * Returns the segments, by hook, that the deletion of these profiles must report as left: every segment that the person
 * is in, or that the hook may still have the person in. Omits a segment whose only change is a `joined` that waits: the
 * hook does not know the person there. The result is valid while these changes wait.
 */
export async function leftSegments(
  { outbox, hooks }: LeftSegmentDependencies,
  profiles: DeletionScope["profiles"],
): Promise<Pick<DeletionSubject, "left"> & Pick<ScopeSnapshot, "waiting">> {
  if (hooks.length === 0 || profiles.length === 0) return { left: {}, waiting: [] };
  const rows = await outbox.of(profiles.flatMap(idsOf));
  const waiting: string[] = [];
  const left = hooks.map((hook) => {
    const segments = new Set<string>();
    for (const profile of profiles) {
      const ids = new Set(idsOf(profile));
      const changes = new Map<string, OutboxRow[]>();
      for (const segment of segmentsIn(profile.memberships)) if (concerns(hook, segment)) changes.set(segment, []);
      for (const row of rows) {
        if (row.hook === hook.name && ids.has(row.entity))
          changes.set(row.segment, [...(changes.get(row.segment) ?? []), row]);
      }
      for (const [segment, [row, another]] of changes) {
        const isUnknown = row?.change === "joined" && row.state === "waiting" && row.cancels && another === undefined;
        if (isUnknown) waiting.push(row.id);
        else segments.add(segment);
      }
    }
    return [hook.name, [...segments]] as const;
  });
  return { left: Object.fromEntries(left), waiting };
}
