import { expect } from "chai";
import fc from "fast-check";
import type { MembershipChange, MembershipIndex } from "../../src/entities/membership-index.js";

export interface OpenIndex {
  readonly index: MembershipIndex;
  /** Makes ids dead in the entity store beside it. */
  kill(ids: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** What every engine promises of memberships. `open` hands out an empty index. `runs`: how many random histories are tried. */
export function membershipIndexContract(name: string, open: () => Promise<OpenIndex>, { runs } = { runs: 60 }) {
  describe(`${name}: membership index`, () => {
    let opened: OpenIndex;
    let index: MembershipIndex;

    before(async () => {
      opened = await open();
      index = opened.index;
    });
    after(() => opened.close());

    let serial = 0;
    const newEntity = () => (++serial).toString(16).padStart(32, "0");
    const newSegment = () => `segment ${++serial}`;

    type Said = { add?: string[]; remove?: string[]; full?: boolean; position?: number };
    const says = (entity: string, time: number, { add = [], remove = [], full = false, position = 0 }: Said) => {
      return { entity, stamp: { time, arrival: 100, position }, add, remove, full } satisfies MembershipChange;
    };

    it("lists the segments of an entity in code unit order", async () => {
      const entity = newEntity();
      await index.apply([says(entity, 1, { add: ["b", "a", "B", "\u{1f600}", "\uffee"] })]);
      expect(await index.segmentsOf(entity)).to.deep.equal(["B", "a", "b", "\u{1f600}", "\uffee"]);
      expect(await index.segmentsOf(newEntity())).to.deep.equal([]);
    });

    for (const { what, said, left } of [
      {
        what: "the newest statement stands",
        said: [
          [1, { add: ["a"] }],
          [2, { remove: ["a"] }],
          [3, { add: ["b"] }],
        ],
        left: ["b"],
      },
      {
        what: "a full list ends what is older",
        said: [
          [1, { add: ["a", "b"] }],
          [2, { add: ["b", "c"], full: true }],
        ],
        left: ["b", "c"],
      },
      {
        what: "a full list leaves what is newer",
        said: [
          [1, { add: ["a"] }],
          [3, { add: ["b"] }],
          [2, { add: ["c"], full: true }],
        ],
        left: ["b", "c"],
      },
      {
        what: "an empty full list ends everything older",
        said: [
          [1, { add: ["a"] }],
          [2, { full: true }],
        ],
        left: [],
      },
      {
        what: "an older full list is void",
        said: [
          [1, { add: ["a"], full: true }],
          [2, { add: ["b"], full: true }],
        ],
        left: ["b"],
      },
    ] as { what: string; said: [number, Said][]; left: string[] }[]) {
      it(`${what}, in whichever order and however often it is said`, async () => {
        await fc.assert(
          fc.asyncProperty(fc.shuffledSubarray([...said, ...said], { minLength: said.length * 2 }), async (order) => {
            const entity = newEntity();
            for (const [time, what] of order) await index.apply([says(entity, time, what)]);
            expect(await index.segmentsOf(entity)).to.deep.equal(left);
          }),
          { numRuns: Math.min(runs, 20) },
        );
      });
    }

    it("tells statements of one time apart by arrival and position", async () => {
      const entity = newEntity();
      await index.apply([
        says(entity, 1, { remove: ["a"], position: 2 }),
        says(entity, 1, { add: ["a", "b"], position: 1 }),
      ]);
      expect(await index.segmentsOf(entity)).to.deep.equal(["b"]);
    });

    it("counts members and overlaps", async () => {
      const [s, t, empty] = [newSegment(), newSegment(), newSegment()];
      const people = [newEntity(), newEntity(), newEntity()];
      await index.apply(people.map((entity) => says(entity, 1, { add: [s] })));
      await index.apply(people.slice(1).map((entity) => says(entity, 2, { add: [t] })));
      await index.apply([says(people[2] as string, 3, { remove: [s] })]);
      expect(await index.sizes([t, empty, s])).to.deep.equal([2, 0, 2]);
      expect(await index.overlap(s, t)).to.equal(1);
      expect(await index.overlap(s, empty)).to.equal(0);
    });

    it("unites memberships, with the newest statement for each segment", async () => {
      const [from, into] = [newEntity(), newEntity()];
      await index.apply([says(into, 1, { add: ["a", "b"] }), says(into, 4, { remove: ["c"] })]);
      await index.apply([
        says(from, 2, { add: ["c"] }),
        says(from, 3, { remove: ["b"] }),
        says(from, 3, { add: ["d"] }),
      ]);
      for (let times = 0; times < 2; times += 1) await index.join(from, into);
      expect(await index.segmentsOf(into)).to.deep.equal(["a", "d"]);
      expect(await index.segmentsOf(from)).to.deep.equal([]);
      expect(await index.holds([from])).to.equal(false);
    });

    it("lets a full list of one say nothing of what only the other was in", async () => {
      const [from, into] = [newEntity(), newEntity()];
      await index.apply([says(into, 1, { add: ["a"], full: true }), says(from, 2, { add: ["b"], full: true })]);
      await index.join(from, into);
      expect(await index.segmentsOf(into)).to.deep.equal(["a", "b"]);
    });

    it("keeps that a full list ended a membership when it joins one that is older", async () => {
      const [from, into] = [newEntity(), newEntity()];
      await index.apply([says(from, 1, { add: ["a"] }), says(from, 3, { full: true }), says(into, 2, { add: ["a"] })]);
      await index.join(from, into);
      expect(await index.segmentsOf(into)).to.deep.equal([]);
    });

    it("joins in whichever order with the same result, and repeats change nothing", async () => {
      const statement = fc.record({
        who: fc.nat(2),
        time: fc.integer({ min: 1, max: 6 }),
        segments: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 }),
        how: fc.constantFrom("add", "remove", "full"),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(statement, { maxLength: 8 }), async (statements) => {
          const results: string[][] = [];
          for (const order of [
            [
              [1, 0],
              [2, 0],
            ],
            [
              [2, 1],
              [1, 0],
            ],
            [
              [2, 0],
              [1, 0],
              [1, 0],
            ],
          ] as const) {
            const people = [newEntity(), newEntity(), newEntity()] as const;
            const changes = statements.map(({ who, time, segments, how }, position) =>
              says(people[who] as string, time, {
                add: how === "remove" ? [] : segments,
                remove: how === "remove" ? segments : [],
                full: how === "full",
                position,
              }),
            );
            await index.apply(changes);
            for (const [from, into] of order) await index.join(people[from], people[into]);
            results.push(await index.segmentsOf(people[0]));
          }
          expect(results[1]).to.deep.equal(results[0]);
          expect(results[2]).to.deep.equal(results[0]);
        }),
        { numRuns: runs },
      );
    });

    it("takes a wrong hint for a hint: nothing is lost of what is known, and the erased stay erased", async () => {
      const [known, other, gone] = [newEntity(), newEntity(), newEntity()];
      await index.apply([known, gone].map((entity) => says(entity, 5, { add: ["a", "b"], remove: ["c"] })));
      await opened.kill([gone]);
      await index.erase([gone]);
      const hinted = [known, other, gone].map((entity) => says(entity, 4, { add: ["c", "d"], remove: ["a"] }));
      await index.apply(hinted.map((change) => ({ ...change, isFirst: true })));
      expect(await index.segmentsOf(known)).to.deep.equal(["a", "b", "d"]);
      expect(await index.segmentsOf(other)).to.deep.equal(["c", "d"]);
      expect(await index.holds([gone])).to.equal(false);
      await index.erase([known, other]);
    });

    it("drops what is said of a dead entity", async () => {
      const [dead, live] = [newEntity(), newEntity()];
      const segment = newSegment();
      await index.apply([says(live, 1, { add: [segment] })]);
      await opened.kill([dead]);
      await index.apply([says(dead, 1, { add: [segment], full: true })]);
      await index.join(live, dead);
      expect(await index.holds([dead])).to.equal(false);
      expect(await index.sizes([segment])).to.deep.equal([0]);
    });

    it("forgets a segment, and takes new statements about it", async () => {
      const segment = newSegment();
      const [a, b] = [newEntity(), newEntity()];
      await index.apply([says(a, 5, { add: [segment, "other"] }), says(b, 5, { remove: [segment] })]);
      await index.removeSegment(segment);
      expect(await index.sizes([segment])).to.deep.equal([0]);
      expect(await index.segmentsOf(a)).to.deep.equal(["other"]);
      await index.apply([says(b, 1, { add: [segment] })]);
      expect(await index.sizes([segment])).to.deep.equal([1]);
    });

    it("counts and lists the segments that were mentioned of entities, those that they left too", async () => {
      const [a, b, none] = [newEntity(), newEntity(), newEntity()];
      await index.apply([
        says(a, 1, { add: ["one", "two"] }),
        says(a, 2, { remove: ["two", "three"] }),
        says(b, 1, { add: ["four"], full: true }),
        says(b, 2, { add: ["five", "one"], full: true }),
      ]);
      expect(await index.counts([a, b, none])).to.deep.equal(
        new Map([
          [a, 3],
          [b, 3],
        ]),
      );
      expect(await index.counts([])).to.deep.equal(new Map());
      expect([...(await index.mentioned([a, none, b]))].sort()).to.deep.equal(["five", "four", "one", "three", "two"]);
      expect(await index.mentioned([none])).to.deep.equal(new Set());
      await index.join(a, b);
      expect(await index.counts([a, b])).to.deep.equal(new Map([[b, 5]]));
      await index.erase([b]);
      expect(await index.counts([b])).to.deep.equal(new Map());
    });

    it("keeps thousands of segments of one entity", async () => {
      const entity = newEntity();
      const segments = Array.from({ length: 3_000 }, (_, at) => `of many ${at}`);
      await index.apply([says(entity, 1, { add: segments })]);
      await index.apply([says(entity, 2, { remove: segments.slice(0, 1_000) })]);
      expect(await index.segmentsOf(entity)).to.have.length(2_000);
      await index.apply([says(entity, 3, { add: ["one"], full: true })]);
      expect(await index.segmentsOf(entity)).to.deep.equal(["one"]);
      await index.erase([entity]);
    });

    it("forgets entities", async () => {
      const [gone, stays] = [newEntity(), newEntity()];
      await index.apply([gone, stays].map((entity) => says(entity, 1, { add: ["a"], full: true })));
      expect(await index.holds([gone])).to.equal(true);
      for (let times = 0; times < 2; times += 1) await index.erase([gone]);
      expect(await index.holds([gone])).to.equal(false);
      expect(await index.holds([gone, stays])).to.equal(true);
    });
  });
}
