import { expect } from "chai";
import type { SentMessage, Span } from "../support/erasure-worlds.js";

interface SegmentDeletion {
  readonly during: Span;
  /** Its time by the clock of its process. */
  readonly time: Span;
  /** Whether its process died, so that it may have had no effect. */
  isUncertain: boolean;
}

/** Memberships that messages state, each of one segment, while segments are deleted. */
export class MembershipModel {
  readonly #deletions = new Map<string, SegmentDeletion[]>();
  readonly #stated = new Map<number, { readonly message: SentMessage; readonly during: Span }[]>();

  readonly #segmentOf: (number: number) => string;

  constructor(segmentOf: (number: number) => string) {
    this.#segmentOf = segmentOf;
  }

  stated(message: SentMessage, during: Span): void {
    this.#stated.set(message.number, [...(this.#stated.get(message.number) ?? []), { message, during }]);
  }

  deleted(segment: string, during: Span, aheadMs: number): SegmentDeletion {
    const time = { from: Math.floor(during.from) + aheadMs, to: during.to + aheadMs };
    const deletion = { during, time, isUncertain: false };
    this.#deletions.set(segment, [...(this.#deletions.get(segment) ?? []), deletion]);
    return deletion;
  }

  /** Compares the segments of a profile with the messages in it. */
  check(messages: readonly number[], segments: readonly string[]): void {
    const segmentsWith = (valid: (number: number) => boolean) =>
      [...new Set(messages.filter(valid).map(this.#segmentOf))].sort();
    expect(segments).to.include.members(segmentsWith((number) => this.#every(number)));
    expect(segmentsWith((number) => this.#some(number))).to.include.members([...segments]);
  }

  /** Whether the update is valid, whichever time of storing the message counts. */
  #every(number: number): boolean {
    const deletions = this.#deletions.get(this.#segmentOf(number)) ?? [];
    return (this.#stated.get(number) ?? []).every(({ message, during }) =>
      deletions.every((deletion) => deletion.during.to < during.from && !isLate(message, deletion.time.to)),
    );
  }

  /** Whether the update may be valid. */
  #some(number: number): boolean {
    const deletions = this.#deletions.get(this.#segmentOf(number)) ?? [];
    return (this.#stated.get(number) ?? []).some(({ message, during }) =>
      deletions.every(
        (deletion) =>
          deletion.isUncertain ||
          (deletion.during.from <= during.to &&
            !(deletion.during.to < during.from && isLate(message, deletion.time.from))),
      ),
    );
  }
}

function isLate({ time }: SentMessage, deletedAt: number): boolean {
  return time !== undefined && time <= deletedAt;
}
