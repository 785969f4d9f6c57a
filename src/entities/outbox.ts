import type { Commit } from "./ports.js";
import type { EntityId, StoredEntity, Turn } from "./profile/entity.js";

/** Setting `hooks`: a system that is notified of who joined and left segments. */
export interface Hook {
  readonly name: string;
  /** Https, unless the host is this machine. */
  readonly url: string;
  readonly token: string;
  /** Ids of segments; `*` is all. */
  readonly segments: readonly string[];
  /** Attributes that are sent; absent: none, and no object for them. */
  readonly fields?: readonly string[];
  /** `members`: a new hook first gets a `joined` for each member; by default changes only. */
  readonly from?: string;
}

/** Returns whether the hook is notified of changes of the segment. */
export function concerns({ segments }: Hook, segment: string): boolean {
  return segments.includes(segment) || segments.includes("*");
}

/**
 * A change for a hook, without personal data. It is `waiting` until it is part of a request that has begun: then it is
 * `sending`, and `failed` after a request without a 2xx. For each person, hook and segment there is at most one change
 * that has begun, and one that waits.
 */
export interface OutboxRow {
  readonly id: string;
  readonly hook: string;
  readonly segment: string;
  /** Empty if the change is about the whole segment. */
  readonly entity: EntityId;
  readonly change: "joined" | "left" | "deleted" | "reset";
  /** Unix ms. */
  readonly at: number;
  /** See `SegmentDeletions`: `deleted` and `reset` begin one, and changes of a later one are later. */
  readonly generation: number;
  readonly state: "waiting" | "sending" | "failed";
  /** Whether the opposite change cancels this one while it waits: the hook knows the opposite. */
  readonly cancels: boolean;
}

export type NewOutboxRow = Omit<OutboxRow, "id">;

/**
 * PORT. Changes that hooks have not received. `EntityStore.commit` adds the changes of its profiles (`outboxChange`)
 * and `CatalogueStore.deleteSegment` one of the segment, for the hooks in the settings of their process.
 * `Ledger.accept` removes the changes of its profiles, except those in a request. Rejects as every store does: see
 * `ToServiceError`.
 */
export interface Outbox {
  /** Returns the changes of these people; with `SEGMENT` also of whole segments. */
  of(entities: readonly EntityId[]): Promise<OutboxRow[]>;
  /**
   * Returns at most `limit` changes for the hook that are not in a request, the oldest first, after `after` in this
   * order. A change that has begun precedes a waiting one of the same person and segment.
   */
  page(hook: string, after: OutboxRow | undefined, limit: number): Promise<OutboxRow[]>;
  /**
   * Puts these changes into a request. Returns the ids of the changes that are still stored and were in no request.
   * Resolves when this survives a crash: an acceptance that is answered later has seen it.
   */
  claim(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Ends the request of these changes without a 2xx; without ids, of all. Safe to repeat. */
  release(ids?: readonly string[]): Promise<void>;
  /** Removes these changes. Safe to repeat. */
  remove(ids: readonly string[]): Promise<void>;
  /** Adds a `joined` of these members, unless a change of one waits. Safe to repeat. */
  addMembers(
    joined: Pick<OutboxRow, "hook" | "segment" | "at" | "cancels">,
    members: readonly EntityId[],
  ): Promise<void>;
  /**
   * Adds a `reset` of each of these segments at `at`, which begin a generation. Resolves with it: the changes of a
   * commit that does not see them are earlier.
   */
  reset(hook: string, segments: readonly string[], at: number): Promise<number>;
  /** Returns the number of changes for the hook, and the time of the oldest, Unix ms; undefined without one. */
  count(hook: string): Promise<{ readonly waiting: number; readonly oldest: number | undefined }>;
  /** Removes the changes that concern none of these hooks. Safe to repeat. */
  keepOnly(hooks: readonly Hook[]): Promise<void>;
  /** Removes the changes of these people that are not in a request: those end with it. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Returns whether a change of these people is stored that is not in a request. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
}

/** The entity of a change about a whole segment. */
export const SEGMENT = "";

/** Returns the entities whose rows `outboxChange` needs; none if no hook can be concerned. */
export function outboxEntities(hooks: readonly Hook[], { profiles }: Pick<Commit, "profiles">): EntityId[] {
  if (hooks.length === 0) return [];
  const turned = profiles.filter(({ turns, mergedFrom }) => turns.length + mergedFrom.length > 0);
  if (turned.length === 0) return [];
  return [SEGMENT, ...turned.flatMap(({ entity, mergedFrom }) => [entity.id, ...mergedFrom.map(({ id }) => id)])];
}

/**
 * Returns the rows that a commit removes and adds; `rows` belong to `outboxEntities`. A change and its opposite cancel
 * each other if both wait, unless a reset is stored: the hook may read the members in between. After a merge the hook
 * may know each of the profiles: it receives the final state of the surviving one for each segment that another one was
 * in, or has rows for.
 */
export function outboxChange(
  hooks: readonly Hook[],
  { profiles, generation, at }: Pick<Commit, "profiles" | "generation" | "at">,
  rows: readonly OutboxRow[],
): { readonly removed: readonly OutboxRow[]; readonly added: readonly NewOutboxRow[] } {
  const removed: OutboxRow[] = [];
  const added: NewOutboxRow[] = [];
  const ofEntity = grouped(rows, ({ entity }) => entity);
  const ofKey = grouped(rows, ({ entity, hook, segment }) => `${entity} ${hook} ${segment}`);
  for (const { entity, turns, mergedFrom } of profiles) {
    const due = new Map<string, Omit<Turn, "change">>(turns.map((turn) => [turn.segment, turn]));
    for (const row of mergedFrom.flatMap(({ id }) => ofEntity.get(id) ?? [])) {
      if (row.state !== "sending") removed.push(row);
      const member = isMember(entity, row.segment);
      due.set(row.segment, { segment: row.segment, member, isCertain: false });
    }
    for (const { segment, member, isCertain } of due.values()) {
      const change = member ? "joined" : "left";
      for (const { name: hook } of hooks.filter((hook) => concerns(hook, segment))) {
        const own = ofKey.get(`${entity.id} ${hook} ${segment}`) ?? [];
        const waiting = own.find(({ state }) => state === "waiting");
        if (waiting !== undefined) removed.push(waiting);
        const ofSegment = ofKey.get(`${SEGMENT} ${hook} ${segment}`) ?? [];
        const isKnown = isCertain && !ofSegment.some(({ change }) => change === "reset");
        // The segment may have been deleted since a person left.
        const isCurrent = change === "left" || waiting?.generation === generation;
        if (isKnown && isCurrent && waiting?.cancels && waiting.change !== change) continue;
        added.push({
          ...{ hook, segment, entity: entity.id, change, generation, state: "waiting" },
          // Clocks of processes differ: a change that has begun is earlier.
          at: Math.max(at, ...own.map((row) => row.at + 1)),
          cancels: isKnown && waiting === undefined,
        });
      }
    }
  }
  return { removed, added };
}

/** Returns the rows for the deletion of a segment at `at`, Unix ms, which begins `generation`. */
export function deletedRows(hooks: readonly Hook[], segment: string, at: number, generation: number): NewOutboxRow[] {
  const about = { segment, entity: SEGMENT, change: "deleted", at, generation, state: "waiting" } as const;
  return hooks.filter((hook) => concerns(hook, segment)).map(({ name }) => ({ ...about, hook: name, cancels: false }));
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Returns whether the profile is in the segment. */
export function isMember({ memberships }: StoredEntity, segment: string): boolean {
  return memberships.updates.get(segment)?.member ?? false;
}
