import { expect } from "chai";
import type { DeletionSubject, DownstreamTarget } from "../../src/deletions/ports.js";

/** Names of the targets of our own, in the order in which a deletion goes through them. */
export const ownTargets: readonly string[] = ["membership-index", "history-archive", "hook-outbox"];

export interface OpenTarget {
  readonly target: DownstreamTarget;
  /** Puts something about the person into the target: under the entity's id, or the value as `email`. */
  put(person: Person): Promise<void>;
  close(): Promise<void>;
}

export interface Person {
  readonly entity: string;
  readonly email: string;
}

const ann: Person = { entity: "a".repeat(32), email: "ann@example.org" };
const ben: Person = { entity: "b".repeat(32), email: "ben@example.org" };

/** Promises of every target of deletions. */
export function downstreamTargetContract(name: string, open: () => Promise<OpenTarget>): void {
  describe(`the downstream target ${name}`, () => {
    let at: OpenTarget;

    beforeEach(async () => {
      at = await open();
    });
    afterEach(() => at.close());

    it("verifies that it has no data of an unknown entity", async () => {
      expect(await at.target.verify(subjectOf(ann))).to.equal(true);
      await at.target.erase(subjectOf(ann));
    });

    it("has data of an entity before an erasure, and none after it", async () => {
      await at.put(ann);
      expect(await at.target.verify(subjectOf(ann))).to.equal(false);
      await at.target.erase(subjectOf(ann));
      expect(await at.target.verify(subjectOf(ann))).to.equal(true);
    });

    it("keeps the data of other entities", async () => {
      await at.put(ann);
      await at.put(ben);
      await at.target.erase(subjectOf(ann));
      expect(await at.target.verify(subjectOf(ben))).to.equal(false);
    });

    it("erases all entities of a deletion, also if it is called again", async () => {
      await at.put(ann);
      await at.put(ben);
      for (const _ of ["once", "twice"]) await at.target.erase(subjectOf(ann, ben));
      expect(await at.target.verify(subjectOf(ann, ben))).to.equal(true);
    });
  });
}

export function subjectOf(...people: Person[]): DeletionSubject {
  return {
    requestId: "0123456789abcdef0123-1700000000",
    table: "user",
    entities: people.map(({ entity }) => entity),
    identities: people.map(({ email }) => ({ field: "email", value: email })),
    hashes: [],
    left: {},
    cutOff: Date.now(),
  };
}
