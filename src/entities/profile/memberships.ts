import type { SegmentStatement } from "../collect/message.js";
import { isBeforeDeletion, type SegmentDeletions } from "./deleted-segments.js";
import {
  compareVersions,
  type MembershipStatement,
  type Memberships,
  type StatementVersion,
  type Version,
} from "./entity.js";

export const noMemberships: Memberships = { fullSince: undefined, statements: new Map() };

/** Returns the ids of the segments that the entity is in, in code unit order. */
export function segmentsIn({ statements }: Memberships): string[] {
  return [...statements].flatMap(([segment, { member }]) => (member ? [segment] : [])).sort();
}

/**
 * Returns how the number of members of segments changes when the memberships of one or several profiles become those of
 * a draft; never by 0.
 */
export function movesTo(draft: MembershipDraft, before: readonly Memberships[]): (readonly [string, number])[] {
  const merged = before.slice(1).flatMap(({ statements }) => [...statements.keys()]);
  const { statements: after } = draft.memberships();
  const moves: (readonly [string, number])[] = [];
  for (const segment of merged.length === 0 ? draft.changed : new Set([...draft.changed, ...merged])) {
    const members = before.filter(({ statements }) => statements.get(segment)?.member).length;
    const change = (after.get(segment)?.member ? 1 : 0) - members;
    if (change !== 0) moves.push([segment, change]);
  }
  return moves;
}

/** Memberships under construction: the newest statement per segment. The order of statements does not matter. */
export class MembershipDraft {
  readonly #statements: Map<string, MembershipStatement>;
  readonly #changed = new Set<string>();
  #moves = 0;
  #fullSince: StatementVersion | undefined;

  constructor({ fullSince, statements }: Memberships = noMemberships) {
    this.#fullSince = fullSince;
    this.#statements = new Map(statements);
  }

  /**
   * Applies the statements of one message. A newer full list that omits a segment ends the membership from that list's
   * version on. A statement whose event is before the deletion of its segment has no effect.
   */
  apply(
    { add, remove, full }: SegmentStatement,
    { time, arrival, position }: Version,
    { newest: generation, bySegment }: SegmentDeletions,
  ): void {
    const version = { time, arrival, position, generation };
    const say = (segment: string, member: boolean) => {
      const deletion = bySegment.get(segment);
      if (!isBeforeDeletion(version, deletion)) this.#say(segment, { ...version, member }, deletion?.generation ?? 0);
    };
    if (full) {
      const listed = new Set(add);
      for (const [segment, kept] of this.#statements) {
        const isLeft = !listed.has(segment) && compareVersions(kept, version) < 0;
        if (isLeft) this.#set(segment, { ...version, member: false });
      }
      this.#raiseFull(version);
    }
    for (const segment of remove) say(segment, false);
    for (const segment of add) say(segment, true);
  }

  /** Merges the statements of an entity that is merged into this one. */
  merge({ fullSince, statements }: Memberships): void {
    for (const [segment, statement] of statements) this.#state(segment, statement);
    if (fullSince !== undefined) this.#raiseFull(fullSince);
  }

  /** Number of segments with a statement. */
  get size(): number {
    return this.#statements.size;
  }

  /** Returns the number of segments after adding these. */
  sizeWith(segments: Iterable<string>): number {
    let size = this.#statements.size;
    for (const segment of new Set(segments)) if (!this.#statements.has(segment)) size += 1;
    return size;
  }

  /** Returns the bytes of all segment ids after adding these. */
  idBytesWith(segments: Iterable<string>): number {
    let bytes = 0;
    for (const id of new Set([...this.#statements.keys(), ...segments])) bytes += Buffer.byteLength(id);
    return bytes;
  }

  /** Segments whose statement has changed. */
  get changed(): ReadonlySet<string> {
    return this.#changed;
  }

  /** Number of times the entity entered or left a segment. */
  get moves(): number {
    return this.#moves;
  }

  memberships(): Memberships {
    return { fullSince: this.#fullSince, statements: this.#statements };
  }

  #raiseFull(version: StatementVersion): void {
    if (this.#fullSince === undefined || compareVersions(this.#fullSince, version) < 0) this.#fullSince = version;
  }

  /** `deletedIn` is the generation of the segment's last deletion: an earlier full list does not concern it. */
  #say(segment: string, statement: MembershipStatement, deletedIn: number): void {
    const since = this.#statements.has(segment) ? undefined : this.#fullSince;
    const isOutdated = since !== undefined && since.generation >= deletedIn && compareVersions(statement, since) < 0;
    const { generation } = statement;
    this.#state(segment, isOutdated ? { ...since, generation, member: false } : statement);
  }

  /** If two statements have the same version, membership wins. */
  #state(segment: string, statement: MembershipStatement): void {
    const kept = this.#statements.get(segment);
    const order = kept === undefined ? -1 : compareVersions(kept, statement);
    if (order < 0 || (order === 0 && statement.member && !kept?.member)) this.#set(segment, statement);
  }

  #set(segment: string, statement: MembershipStatement): void {
    if (statement.member !== (this.#statements.get(segment)?.member ?? false)) this.#moves += 1;
    this.#statements.set(segment, statement);
    this.#changed.add(segment);
  }
}
