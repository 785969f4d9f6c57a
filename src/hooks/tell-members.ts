import { everyItem } from "../async/pages.js";
import type { CatalogueStore } from "../catalogue/ports.js";
import type { Clock } from "../clock.js";
import { type Hook, type Outbox, SEGMENT } from "../entities/outbox.js";
import type { MembershipIndex } from "../entities/ports.js";
import type { Facts } from "../facts.js";
import { changeStates, type HookState } from "./hook-states.js";

export interface TellMembersDependencies {
  readonly facts: Pick<Facts, "text" | "replaceText">;
  readonly outbox: Pick<Outbox, "addMembers" | "of">;
  readonly catalogue: Pick<CatalogueStore, "segmentIds">;
  readonly memberships: Pick<MembershipIndex, "members">;
  readonly clock: Clock;
}

/** Members added by one step. */
const PAGE = 500;

/**
 * Adds a `joined` for each member of the segments of a new hook with `from: "members"`, one page per call. Resolves
 * with true when none is left. Nothing is sent before, so the hook does not know a person whose `joined` waits. After a
 * reset it reads the members itself.
 */
export async function tellMembers(
  { facts, outbox, catalogue, memberships, clock }: TellMembersDependencies,
  { name, segments, from }: Hook,
  state: HookState | undefined,
): Promise<boolean> {
  const store = (walk: HookState["walk"]) =>
    changeStates(facts, (states) => ({ ...states, [name]: { ...states[name], walk } }));
  if (state === undefined) {
    const isForAll = segments.includes("*");
    const all = isForAll ? await everyItem(catalogue.segmentIds, (id) => id) : segments;
    await store(from === "members" ? { segments: all, after: "" } : undefined);
    return false;
  }
  const [segment, ...others] = state.walk?.segments ?? [];
  if (segment === undefined) return true;
  const isReset = (await outbox.of([SEGMENT])).some(
    (row) => row.hook === name && row.segment === segment && row.change === "reset",
  );
  const members = isReset ? [] : await memberships.members(segment, state.walk?.after || undefined, PAGE);
  await outbox.addMembers({ hook: name, segment, at: clock(), cancels: true }, members);
  const isLast = members.length < PAGE;
  const next = { segments: isLast ? others : [segment, ...others], after: isLast ? "" : (members.at(-1) ?? "") };
  await store(next.segments.length === 0 ? undefined : next);
  return false;
}
