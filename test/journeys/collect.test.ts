import { expect } from "chai";
import { collectStage, NOW } from "../support/collect-stage.js";
import { amount } from "../support/servers.js";

const HOUR = 3_600_000;

describe("collecting messages", () => {
  const on = collectStage();
  const { own, post, taken, read, counted } = on;

  it("accepts an object, an array and lines, which are readable and counted after the response", async () => {
    await taken({ _uid: own("a"), x: 1 }, 1);
    await taken([{ _uid: own("a"), y: 2 }, { _uid: own("b") }], 2);
    await taken(`{"_uid":"${own("a")}","z":3}\r\n\n  {"_uid":"${own("c")}"}`, 2);
    expect(await read(own("a"))).to.deep.equal({ _uid: own("a"), x: 1, y: 2, z: 3, segments: [] });
    expect(await read(own("c"))).to.not.equal(undefined);
    expect(await counted()).to.deep.equal({ [NOW - (NOW % HOUR)]: 5 });
  });

  it("registers new segments with their id as name, and their size", async () => {
    await taken({ account_id: own("a"), segments: [own("seg")] }, 1, "?table=account");
    const answer = await on.service.fetch(`/api/segment/${own("seg")}`);
    expect(await answer.json()).to.have.deep.property("data", {
      id: own("seg"),
      name: own("seg"),
      table: "account",
      by_rule: false,
      computing: null,
      size: 1,
    });
  });

  it("drops attributes that are not newer than a deletion of one of their identities", async () => {
    await taken({ _uid: own("a"), email: `${own("a")}@x.org`, x: 1 }, 1);
    await on.service.fetch(`/api/entity/user/_uid/${own("a")}`, { method: "DELETE" });
    const old = { email: `${own("a")}@x.org`, user_id: own("b"), when: NOW / 1000 - 60 };
    await taken([old, { _uid: own("c"), when: NOW / 1000 - 60 }], 2, "?timestamp_field=when");
    expect(await read(own("a"))).to.equal(undefined);
    expect(Object.values(await counted())).to.deep.equal([2]);
    on.now += 10;
    await taken({ _uid: own("a"), y: 2 }, 1);
    expect(await read(own("a"))).to.deep.equal({ _uid: own("a"), y: 2, segments: [] });
  });

  const lines = amount(10_000, 100);
  it(`stores each of ${lines} lines once`, async function () {
    this.timeout(60_000);
    const line = (i: number) =>
      `{"_uid":"${own("m")}-${i % (lines / 2)}","x${i % 3}":${i},"segments":{"add":["s${i % 3}"]}}\n`;
    await taken(Array.from({ length: lines }, (_, i) => line(i)).join(""), lines);
    expect(await read(`${own("m")}-7`))
      .to.have.property("segments")
      .with.length(2);
    expect(Object.values(await counted())).to.deep.equal([lines]);
  });

  it("never exceeds the limit of segments in concurrent requests, whatever identity they name", async () => {
    const named = [{ _uid: own("a") }, { user_id: own("a") }, { email: `${own("a")}@x.org` }];
    await taken([Object.assign({}, ...named)], 1);
    for (let first = 0; first < 9_988; first += 908)
      await taken([{ _uid: own("a"), segments: { add: Array.from({ length: 908 }, (_, id) => `t${first + id}`) } }], 1);
    const tallies = await Promise.all(
      named.map((identity, at) =>
        post([{ ...identity, segments: { add: Array.from({ length: 5 }, (_, id) => `s${5 * at + id}`) } }]),
      ),
    );
    expect(tallies.flatMap(({ body }) => body.data.errors.map(({ code, path }) => [code, path]))).to.deep.equal([
      ["too_many_segments", "[0]"],
    ]);
    expect((await read(own("a")))?.segments).to.have.length(9_998);
  });

  it("applies all messages when many write to one entity at once", async () => {
    const writers = Array.from({ length: amount(40, 12) }, (_, i) => i);
    await Promise.all(writers.map((i) => taken({ _uid: [own("a"), own(`u${i}`)], [`x${i}`]: i }, 1)));
    const found = await read(own("a"));
    for (const i of writers) expect(found).to.have.property(`x${i}`, i);
  });

  it("applies all messages when many merge the same entities at once", async () => {
    const people = Array.from({ length: amount(12, 6) }, (_, i) => own(`p${i}`));
    await Promise.all(people.map((person, i) => taken({ _uid: person, [`x${i}`]: i, segments: [`g${i}`] }, 1)));
    await Promise.all(people.map((person, i) => taken({ _uid: [person, people[(i + 1) % people.length]] }, 1)));
    const found = await read(own("p3"));
    expect(found?._uid).to.have.members(people);
    expect(found?.segments).to.have.members(people.map((_, i) => `g${i}`));
    people.forEach((_, i) => {
      expect(found).to.have.property(`x${i}`, i);
    });
  });
});
