import { compareStamps, type MembershipStatement, type Memberships, type Stamp } from "./entity.js";
import type { SegmentStatement } from "./message.js";

export const noMemberships: Memberships = { fullSince: undefined, statements: new Map() };

/** Ids of the segments that the entity is in, in code unit order. */
export function segmentsIn({ statements }: Memberships): string[] {
  return [...statements].flatMap(([segment, { member }]) => (member ? [segment] : [])).sort();
}

/** Memberships in the making: of each segment the newest statement. It does not matter which of two statements comes first. */
export class MembershipDraft {
  readonly #statements: Map<string, MembershipStatement>;
  readonly #changed = new Set<string>();
  #fullSince: Stamp | undefined;

  constructor({ fullSince, statements }: Memberships = noMemberships) {
    this.#fullSince = fullSince;
    this.#statements = new Map(statements);
  }

  /** Takes in what one message says. */
  apply({ add, remove, full }: SegmentStatement, stamp: Stamp): void {
    if (full && (this.#fullSince === undefined || compareStamps(this.#fullSince, stamp) < 0)) {
      for (const [segment, kept] of this.#statements) {
        if (compareStamps(kept, stamp) < 0) this.#set(segment, { ...stampOf(stamp), member: false });
      }
      this.#fullSince = stampOf(stamp);
    }
    const since = this.#fullSince;
    if (since !== undefined && compareStamps(stamp, since) < 0) {
      for (const segment of [...remove, ...add]) {
        if (!this.#statements.has(segment)) this.#set(segment, { ...stampOf(since), member: false });
      }
      return;
    }
    for (const segment of remove) this.#state(segment, { ...stampOf(stamp), member: false });
    for (const segment of add) this.#state(segment, { ...stampOf(stamp), member: true });
  }

  /** Unites these with the statements about an entity that is merged into this one. */
  merge({ fullSince, statements }: Memberships): void {
    for (const [segment, statement] of statements) this.#state(segment, statement);
    if (fullSince !== undefined && (this.#fullSince === undefined || compareStamps(this.#fullSince, fullSince) < 0)) {
      this.#fullSince = fullSince;
    }
  }

  /** Segments that were ever named. */
  get size(): number {
    return this.#statements.size;
  }

  /** How many segments there would be once these were named too. */
  sizeWith(segments: Iterable<string>): number {
    let size = this.#statements.size;
    for (const segment of new Set(segments)) if (!this.#statements.has(segment)) size += 1;
    return size;
  }

  /** The segments whose statement is another one than at first. */
  get changed(): ReadonlySet<string> {
    return this.#changed;
  }

  memberships(): Memberships {
    return { fullSince: this.#fullSince, statements: this.#statements };
  }

  /** Of two statements with one stamp the one that the entity is a member stands. */
  #state(segment: string, statement: MembershipStatement): void {
    const kept = this.#statements.get(segment);
    if (kept !== undefined) {
      const order = compareStamps(kept, statement);
      if (order > 0 || (order === 0 && (kept.member || !statement.member))) return;
    }
    this.#set(segment, statement);
  }

  #set(segment: string, statement: MembershipStatement): void {
    this.#statements.set(segment, statement);
    this.#changed.add(segment);
  }
}

function stampOf({ time, arrival, position }: Stamp): Stamp {
  return { time, arrival, position };
}
