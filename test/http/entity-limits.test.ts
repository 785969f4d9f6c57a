import { expect } from "chai";
import { serviceOfSuite } from "../support/service.js";

/** Maximum segments of an entity. */
describe("the segments of an entity", () => {
  let serial = 0;

  const service = serviceOfSuite({ roles: ["api"] });
  beforeEach(() => {
    serial += 1;
  });

  const own = (value: string) => `${value}${serial}`;
  const ids = (from: number, count: number) => Array.from({ length: count }, (_, at) => `s${from + at}`);

  interface Tally {
    message_count: number;
    rejected_count: number;
    errors: { code: string; path: string }[];
  }

  async function post(messages: readonly object[], query = ""): Promise<Tally> {
    const answer = await service.fetch(`/collect/json/web${query}`, { method: "POST", json: messages });
    expect(answer.status).to.equal(200);
    return ((await answer.json()) as { data: Tally }).data;
  }

  async function segmentsOf(value: string, field = "_uid"): Promise<string[] | undefined> {
    const answer = await service.fetch(`/api/entity/user/${field}/${value}`);
    if (answer.status !== 200) return undefined;
    return ((await answer.json()) as { data: { segments: string[] } }).data.segments;
  }

  /** Messages that give an entity 9,990 segments, so that it may have 10 more. */
  const filling = (identity: object) =>
    Array.from({ length: 10 }, (_, part) => ({ ...identity, segments: { add: ids(999 * part + 1_000, 999) } }));
  const FILLED = 9_990;
  const others = (segments: readonly string[] | undefined) =>
    segments?.filter((id) => Number(id.slice(1)) < 1_000 || Number.isNaN(Number(id.slice(1))));

  const codes = ({ errors }: Tally) => errors.map(({ code, path }) => [code, path]);
  const TOO_MANY = "too_many_segments";

  for (const [count, taken] of [
    [10, true],
    [11, false],
  ] as const) {
    it(`are at most 10,000: a message with ${count} more than 9,990 is ${taken ? "accepted" : "rejected"}`, async () => {
      await post(filling({ _uid: own("a") }));
      const tally = await post([{ _uid: own("a"), segments: { add: ids(0, count) } }]);
      expect(codes(tally)).to.deep.equal(taken ? [] : [[TOO_MANY, "[0]"]]);
      expect((await segmentsOf(own("a")))?.length).to.equal(taken ? FILLED + count : FILLED);
    });
  }

  it("are counted also if the entity has left them or was never in them", async () => {
    await post([...filling({ _uid: own("a") }), { _uid: own("a"), segments: { add: ids(0, 5) } }]);
    await post([{ _uid: own("a"), segments: [] }]);
    await post([{ _uid: own("a"), segments: { remove: ids(5, 5) } }]);
    const tally = await post([
      { _uid: own("a"), segments: { remove: ["another"] } },
      { _uid: own("a"), segments: ["another"] },
      { _uid: own("a"), segments: { add: ids(2, 8), remove: ids(0, 2) } },
    ]);
    expect(codes(tally)).to.deep.equal([
      [TOO_MANY, "[0]"],
      [TOO_MANY, "[1]"],
    ]);
    expect(await segmentsOf(own("a"))).to.deep.equal(ids(2, 8).sort());
  });

  it("are counted together if entities merge: a merge above the limit is rejected", async () => {
    await post([
      ...filling({ _uid: own("a") }),
      { _uid: own("a"), segments: { add: ids(0, 6) } },
      { user_id: own("b"), segments: ids(4, 6) },
      { email: `${own("c")}@x.org`, segments: ids(9, 2) },
    ]);
    expect(codes(await post([{ _uid: own("a"), user_id: own("b") }]))).to.deep.equal([]);
    expect(others(await segmentsOf(own("a")))).to.deep.equal(ids(0, 10).sort());
    const tally = await post([
      { _uid: own("a"), email: `${own("c")}@x.org` },
      { _uid: own("a"), z: 1 },
    ]);
    expect(codes(tally)).to.deep.equal([[TOO_MANY, "[0]"]]);
    expect(await segmentsOf(`${own("c")}@x.org`, "email")).to.have.length(2);
  });

  it("are limited in a dry run too, which stores nothing", async () => {
    await post(filling({ _uid: own("a") }));
    const messages = [
      { _uid: own("a"), segments: { add: ids(0, 10) } },
      { _uid: own("a"), segments: { add: ["another"] } },
      { _uid: own("b") },
      { x: 1 },
    ];
    const tally = await post(messages, "?dryrun=true");
    expect(tally).to.deep.include({ message_count: 2, rejected_count: 2 });
    expect(codes(tally)).to.deep.equal([
      [TOO_MANY, "[1]"],
      ["no_identity", "[3]"],
    ]);
    expect(await segmentsOf(own("a"))).to.have.length(FILLED);
    expect(await post(messages)).to.deep.equal(tally);
    expect(await segmentsOf(own("a"))).to.have.length(10_000);
  });
});
