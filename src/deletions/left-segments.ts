import { concerns, type Hook, type OutboxRow, SEGMENT } from "../entities/outbox.js";
import { idsOf, segmentsIn } from "../entities/profile/entity.js";
import type { DeletionSubject } from "./ports.js";
import type { DeletionScope } from "./scope.js";

/**
 * Returns the segments, by hook, that the deletion of these profiles must report as left: every segment that the person
 * is in, or that the hook may still have the person in. Omits a segment whose only change is a `joined` that waits,
 * unless a reset is stored: the hook does not know the person there. `rows` are the changes about the profiles and
 * about whole segments.
 */
export function leftSegments(
  hooks: readonly Hook[],
  profiles: DeletionScope["profiles"],
  rows: readonly OutboxRow[],
): DeletionSubject["left"] {
  const left = hooks.map((hook) => {
    const ofHook = rows.filter((row) => row.hook === hook.name);
    const isRead = (segment: string) =>
      ofHook.some((row) => row.entity === SEGMENT && row.segment === segment && row.change === "reset");
    const segments = profiles.flatMap((profile) => {
      const ids = new Set(idsOf(profile));
      const own = ofHook.filter(({ entity }) => ids.has(entity));
      const concerned = segmentsIn(profile.memberships).filter((segment) => concerns(hook, segment));
      const isUnknown = (segment: string) => {
        const [row, another] = own.filter((row) => row.segment === segment);
        const isOnly = row?.state === "waiting" && row.cancels && another === undefined;
        return isOnly && row.change === "joined" && !isRead(segment);
      };
      return [...concerned, ...own.map(({ segment }) => segment)].filter((segment) => !isUnknown(segment));
    });
    return [hook.name, [...new Set(segments)]] as const;
  });
  return Object.fromEntries(left);
}
