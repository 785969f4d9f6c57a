import {
  compareVersions,
  isBeforeDeletion,
  type Memberships,
  type MembershipUpdate,
  type SegmentDeletions,
  type Turn,
  type UpdateVersion,
  type Version,
} from "./entity.js";
import type { SegmentUpdates } from "./message.js";

export const noMemberships: Memberships = { fullSince: undefined, updates: new Map() };

/** Memberships under construction: the newest update per segment. The order of updates does not matter. */
export class MembershipDraft {
  readonly #updates: Map<string, MembershipUpdate>;
  readonly #changed = new Set<string>();
  /** Segments by rule: messages do not change them. */
  readonly #byRule: ReadonlySet<string>;
  /** Stored memberships of the profile, and of the profiles merged into it. */
  readonly #stored: Memberships[];
  #changes = 0;
  #fullSince: UpdateVersion | undefined;

  constructor(stored: Memberships, byRule: ReadonlySet<string> = new Set()) {
    this.#byRule = byRule;
    this.#fullSince = stored.fullSince;
    this.#updates = new Map(stored.updates);
    this.#stored = [stored];
  }

  /** Returns an independent copy. */
  copy(): MembershipDraft {
    const copy = new MembershipDraft(this.memberships(), this.#byRule);
    copy.#stored.splice(0, 1, ...this.#stored);
    for (const segment of this.#changed) copy.#changed.add(segment);
    return copy;
  }

  /**
   * Applies the updates of one message. A newer full list that omits a segment ends the membership from that list's
   * version on. An update whose event is before the deletion of its segment has no effect, nor has one about a segment
   * by rule.
   */
  apply(
    { add, remove, full }: SegmentUpdates,
    { time, arrival, position }: Version,
    { newest: generation, bySegment }: SegmentDeletions,
  ): void {
    const version = { time, arrival, position, generation };
    const update = (segment: string, member: boolean) => {
      const deletion = bySegment.get(segment);
      if (this.#byRule.has(segment)) return;
      if (!isBeforeDeletion(version, deletion)) this.#add(segment, { ...version, member }, deletion?.generation ?? 0);
    };
    if (full) {
      const listed = new Set(add);
      for (const [segment, stored] of this.#updates) {
        const isLeft = !listed.has(segment) && compareVersions(stored, version) < 0;
        if (isLeft && !this.#byRule.has(segment)) this.#set(segment, { ...version, member: false });
      }
      this.#raiseFull(version);
    }
    for (const segment of remove) update(segment, false);
    for (const segment of add) update(segment, true);
  }

  /** Merges the updates of an entity that is merged into this one. */
  merge(other: MembershipDraft): void {
    for (const [segment, update] of other.#updates) this.#setIfNewer(segment, update);
    if (other.#fullSince !== undefined) this.#raiseFull(other.#fullSince);
    this.#stored.push(...other.#stored);
  }

  /** Stores the decision of a rule about a segment at `at`, Unix ms. Returns whether it differs from the last one. */
  decide(segment: string, member: boolean, at: number, generation: number): boolean {
    if (this.isMember(segment) === member) return false;
    this.#set(segment, { member, time: at, arrival: at, position: 0, generation });
    return true;
  }

  isMember(segment: string): boolean {
    return this.#updates.get(segment)?.member ?? false;
  }

  /** Number of pushed segments with an update. */
  get size(): number {
    let size = this.#updates.size;
    if (this.#byRule.size === 0) return size;
    for (const segment of this.#updates.keys()) if (this.#byRule.has(segment)) size -= 1;
    return size;
  }

  /** Returns the number of pushed segments after adding these. */
  sizeWith(segments: Iterable<string>): number {
    let { size } = this;
    for (const segment of new Set(segments)) {
      if (!this.#updates.has(segment) && !this.#byRule.has(segment)) size += 1;
    }
    return size;
  }

  /** Returns the bytes of the ids of all pushed segments after adding these. */
  idBytesWith(segments: Iterable<string>): number {
    let bytes = 0;
    for (const id of new Set([...this.#updates.keys(), ...segments]))
      if (!this.#byRule.has(id)) bytes += Buffer.byteLength(id);
    return bytes;
  }

  /** Segments whose update has changed. */
  get changed(): ReadonlySet<string> {
    return this.#changed;
  }

  /** Number of times the entity entered or left a segment. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns the segments that the profile enters or leaves when this is stored, or that a merged profile was in. */
  turns(): Turn[] {
    const merged = this.#stored.slice(1).flatMap(({ updates }) => [...updates.keys()]);
    const turns: Turn[] = [];
    for (const segment of new Set([...this.#changed, ...merged])) {
      const before = this.#stored.map(({ updates }) => updates.get(segment)?.member ?? false);
      const member = this.isMember(segment);
      const isCertain = !before.includes(true, 1);
      const change = Number(member) - before.filter(Boolean).length;
      if (change !== 0 || !isCertain) turns.push({ segment, member, isCertain, change });
    }
    return turns;
  }

  memberships(): Memberships {
    return { fullSince: this.#fullSince, updates: this.#updates };
  }

  #raiseFull(version: UpdateVersion): void {
    if (this.#fullSince === undefined || compareVersions(this.#fullSince, version) < 0) this.#fullSince = version;
  }

  /** `deletedIn` is the generation of the segment's last deletion: an earlier full list does not concern it. */
  #add(segment: string, update: MembershipUpdate, deletedIn: number): void {
    const since = this.#updates.has(segment) ? undefined : this.#fullSince;
    const isOutdated = since !== undefined && since.generation >= deletedIn && compareVersions(update, since) < 0;
    const { generation } = update;
    this.#setIfNewer(segment, isOutdated ? { ...since, generation, member: false } : update);
  }

  /** If two updates have the same version, membership wins. */
  #setIfNewer(segment: string, update: MembershipUpdate): void {
    const stored = this.#updates.get(segment);
    const order = stored === undefined ? -1 : compareVersions(stored, update);
    if (order < 0 || (order === 0 && update.member && !stored?.member)) this.#set(segment, update);
  }

  #set(segment: string, update: MembershipUpdate): void {
    if (update.member !== (this.#updates.get(segment)?.member ?? false)) this.#changes += 1;
    this.#updates.set(segment, update);
    this.#changed.add(segment);
  }
}
