import { expect } from "chai";
import fc from "fast-check";
import { type ReadDependencies, readEntity } from "../../src/entities/read/read-entity.js";
import { type EntityStage, entityStage, LONG_AGO, userTable } from "../support/entity-stage.js";
import { endless, opening } from "../support/opening.js";

describe("messages about entities", () => {
  let stage: EntityStage;
  let serial = 0;

  before(async () => {
    stage = await entityStage();
  });
  after(() => stage.close());
  beforeEach(() => {
    serial += 1;
  });

  /** A value that no other test uses. */
  const own = (value: string) => `${value}-${serial}`;
  const name = (value: string) => ({ _uid: own(value) });

  it("create an entity with attributes, identities and segments", async () => {
    await stage.collect([
      { ...name("a"), email: ` ${own("A")}@X.org `, age: 7, tags: ["x", null, { y: 1 }], segments: ["s", "r"] },
    ]);
    const expected = {
      _uid: own("a"),
      email: `${own("a")}@x.org`,
      age: 7,
      tags: ["x", null, { y: 1 }],
      segments: ["r", "s"],
    };
    expect(await stage.read("_uid", own("a"))).to.deep.equal(expected);
    expect(await stage.read("email", `${own("A")}@x.ORG`)).to.deep.equal(expected);
    expect(await stage.read("user_id", own("a"))).to.equal(undefined);
  });

  it("merge into the oldest entity", async () => {
    const ownersOf = (value: string) =>
      stage.stores.entities
        .find([stage.hashIdentity("user", { field: "_uid", value: own(value) })])
        .then(({ owners }) => owners);
    await stage.collect([name("old")]);
    await stage.collect([name("young")]);
    const [oldest] = [...(await ownersOf("old")).values()];
    await stage.collect([{ _uid: [own("young"), own("old")] }]);
    expect([...(await ownersOf("young")).values()]).to.deep.equal([oldest]);
  });

  it("have the same result in one batch as one by one", async () => {
    const update = fc.record({
      who: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 2 }),
      at: fc.integer({ min: 1, max: 4 }),
      set: fc.constantFrom("x", "y"),
      value: fc.constantFrom(1, 2, null),
      segments: fc.option(
        fc.oneof(
          fc.uniqueArray(fc.constantFrom("s", "t", "u"), { maxLength: 2 }),
          fc.record({ add: fc.constant(["s"]) }),
          fc.record({ remove: fc.constant(["t"]) }),
        ),
        { nil: undefined },
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(update, { minLength: 1, maxLength: 8 }), async (updates) => {
        const results: unknown[] = [];
        for (const batchSize of [updates.length, 1, 3]) {
          serial += 1;
          const messages = updates.map(({ who, at, set, value, segments }) => {
            const said = segments === undefined ? {} : { segments };
            return { _uid: who.map(own), at: LONG_AGO + at, [set]: value, ...said };
          });
          for (let i = 0; i < messages.length; i += batchSize) await stage.collect(messages.slice(i, i + batchSize));
          const read = await Promise.all(["a", "b", "c", "d"].map((who) => stage.read("_uid", own(who))));
          results.push(JSON.parse(JSON.stringify(read).replaceAll(`-${serial}"`, '"')));
        }
        expect(results[1]).to.deep.equal(results[0]);
        expect(results[2]).to.deep.equal(results[0]);
      }),
      { numRuns: 60 },
    );
  });

  it("count once for an id that several messages have: the first message that is not refused", async () => {
    const ids = ["a".repeat(32), "b".repeat(32), "a".repeat(32)];
    const big = { x: "x".repeat(1_100_000) };
    await stage.collect([{ _uid: "first" }, { _uid: "first", n: 1 }, { _uid: "first", n: 2 }], { ids });
    expect(await stage.read("_uid", "first")).to.have.property("n", 1);
    const [c, d] = ["c".repeat(32), "d".repeat(32)];
    const messages = [
      { _uid: "second", ...big },
      { _uid: "second", n: 1 },
      { _uid: "second", n: 2, ...big },
    ];
    const codes = await stage.collect(messages, { ids: [c, c, d] });
    expect(codes).to.deep.equal(["entity_too_large", "entity_too_large"]);
    expect(await stage.read("_uid", "second")).to.have.property("n", 1);
  });

  it("result in the values of the newest event, in any order and also if they are repeated", async () => {
    const messages = [
      { at: LONG_AGO + 1, x: 1, y: 1, segments: ["a", "b"] },
      { at: LONG_AGO + 2, x: 2, segments: { remove: ["a"] } },
      { at: LONG_AGO + 3, x: null, z: { deep: true }, segments: ["c", "d"] },
      { at: LONG_AGO + 4, y: 4, segments: { add: ["e"], remove: ["d"] } },
    ];
    const order = fc.shuffledSubarray([...messages, ...messages], { minLength: messages.length * 2 });
    await fc.assert(
      fc.asyncProperty(order, fc.integer({ min: 1, max: 8 }), async (shuffled, batchSize) => {
        serial += 1;
        for (let i = 0; i < shuffled.length; i += batchSize) {
          await stage.collect(shuffled.slice(i, i + batchSize).map((message) => ({ ...name("a"), ...message })));
        }
        const { at, ...rest } = (await stage.read("_uid", own("a"))) ?? {};
        expect(at).to.equal(LONG_AGO + 4);
        expect(rest).to.deep.equal({ _uid: own("a"), y: 4, z: { deep: true }, segments: ["c", "e"] });
      }),
      { numRuns: 30 },
    );
  });

  for (const { what, segments } of [
    { what: "a leave", segments: { remove: ["s"] } },
    { what: "a full list", segments: [] },
  ]) {
    it(`have the same result after a merge of their entity as before: ${what}`, async () => {
      for (const isLate of [false, true]) {
        serial += 1;
        const old = [{ ...name("a"), at: LONG_AGO + 2, segments }];
        await stage.collect([{ ...name("a"), at: LONG_AGO + 1, segments: { add: ["s"] } }]);
        await stage.collect([{ ...name("b"), at: LONG_AGO + 3, segments: ["t"] }]);
        if (!isLate) await stage.collect(old);
        await stage.collect([{ _uid: [own("a"), own("b")], at: LONG_AGO + 4 }]);
        if (isLate) await stage.collect(old);
        expect((await stage.read("_uid", own("a")))?.segments, `late: ${isLate}`).to.deep.equal(["t"]);
      }
    });
  }

  it("with equal event times result in the value of the later arrival, or position in one request", async () => {
    await stage.collect([
      { ...name("a"), at: LONG_AGO, x: 1 },
      { ...name("a"), at: LONG_AGO, x: 2 },
    ]);
    expect(await stage.read("_uid", own("a"))).to.have.property("x", 2);
    await stage.collect([{ ...name("a"), at: LONG_AGO, x: 3 }]);
    expect(await stage.read("_uid", own("a"))).to.have.property("x", 3);
  });

  it("are refused if an entity would have too many values of a field", async () => {
    const values = (from: number, count: number) => Array.from({ length: count }, (_, i) => own(`v${from + i}`));
    expect(await stage.collect([{ _uid: values(0, 99) }, { _uid: values(200, 100) }])).to.deep.equal([]);
    expect(
      await stage.collect([
        { _uid: values(98, 2), x: 1 },
        { _uid: values(99, 2), x: 2 },
        { _uid: values(0, 1), y: 3 },
        { _uid: [...values(0, 1), ...values(200, 1)] },
      ]),
    ).to.deep.equal(["too_many_values", "too_many_values"]);
    const read = (await stage.read("_uid", own("v0"))) as { _uid: string[]; x: number; y: number };
    expect(read._uid).to.have.length(100);
    expect([read.x, read.y]).to.deep.equal([1, 3]);
    expect(await stage.read("_uid", own("v100"))).to.equal(undefined);
    expect(await stage.read("_uid", own("v200"))).to.not.have.property("x");
  });

  it("are refused if an entity would become too large, but may make a full one smaller", async () => {
    const half = "x".repeat(400_000);
    expect(await stage.collect([{ ...name("a"), one: half, two: half }])).to.deep.equal([]);
    expect(await stage.collect([{ ...name("a"), three: half }])).to.deep.equal(["entity_too_large"]);
    expect(
      await stage.collect([
        { ...name("a"), one: null },
        { ...name("a"), three: half },
      ]),
    ).to.deep.equal([]);
    expect(await stage.collect([{ ...name("b"), three: half, four: half }])).to.deep.equal([]);
    expect(await stage.collect([{ _uid: [own("a"), own("b")] }])).to.deep.equal(["entity_too_large"]);
    expect(await stage.read("_uid", own("a"))).to.have.keys("_uid", "two", "three", "segments");
  });

  it("are refused if their late attributes would not fit into an entity", async () => {
    const late = { ...name("a"), at: LONG_AGO, one: "x".repeat(600_000), two: "x".repeat(600_000) };
    await stage.collect([{ ...name("a"), at: LONG_AGO + 1, one: 1, two: 2 }]);
    expect(await stage.collect([late])).to.deep.equal(["entity_too_large"]);
    expect(await stage.collect([{ ...late, two: 3 }])).to.deep.equal([]);
    expect(await stage.read("_uid", own("a"))).to.include({ one: 1, two: 2 });
  });

  it("are refused if the ids of the segments of an entity would exceed their limit in bytes", async () => {
    const segments = (part: number) => Array.from({ length: 1_000 }, (_, at) => `${part} ${at} ${"𝓍".repeat(248)}`);
    const add = (part: number) => ({ ...name("a"), at: LONG_AGO, segments: { add: segments(part) } });
    for (let part = 0; part < 6; part += 1) expect(await stage.collect([add(part)])).to.deep.equal([]);
    expect(await stage.collect([add(6)])).to.deep.equal(["segments_too_large"]);
    expect(await stage.collect([{ ...name("a"), at: LONG_AGO + 1, segments: [] }, add(5)])).to.deep.equal([]);
    expect(await stage.read("_uid", own("a"))).to.deep.include({ segments: [] });
  });

  it("may name attributes like the properties of every object", async () => {
    const hazards = JSON.parse('{"constructor":{"prototype":1},"toString":"x","hasOwnProperty":null,"valueOf":2}');
    await stage.collect([{ ...name("a"), ...hazards }]);
    const read = await stage.read("_uid", own("a"));
    expect(JSON.stringify(read)).to.equal(
      JSON.stringify({ _uid: own("a"), constructor: { prototype: 1 }, toString: "x", valueOf: 2, segments: [] }),
    );
  });

  it("do not hide an entity from a read while they merge it into another", async () => {
    await stage.collect([{ _uid: own("older"), x: 1 }]);
    await stage.collect([{ email: `${own("younger")}@x.org`, y: 1 }]);
    const { entities, catalogue, entityKeys } = stage.stores;
    let isMerged = false;
    const dependencies: ReadDependencies = {
      entities: {
        ...entities,
        // A possible result of a server that resolves the identity while the entity is merged.
        async find(hashes) {
          const found = await entities.find(hashes);
          if (isMerged) return found;
          await stage.collect([{ _uid: own("older"), email: `${own("younger")}@x.org` }]);
          isMerged = true;
          return { ...found, profiles: new Map() };
        },
      },
      segments: catalogue,
      entityKeys,
      hashIdentity: stage.hashIdentity,
      ...opening(),
    };
    const identity = { field: "email", value: `${own("younger")}@x.org` };
    const profile = await readEntity(dependencies, userTable, identity, { segments: false }, endless());
    expect(profile?.attributes.get("_uid")).to.equal(own("older"));
    expect(profile?.attributes.get("y")).to.equal(1);
  });
});
