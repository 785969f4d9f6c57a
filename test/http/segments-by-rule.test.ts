import { expect } from "chai";
import type { Computing } from "../../src/catalogue/ports.js";
import { firstPlace, moveWalk } from "../../src/segments/walk-place.js";
import { catalogueOf } from "../support/catalogue-calls.js";
import { newKey, serviceOfEachTest, serviceOfSuite, type TestService } from "../support/service.js";

const pro = { attribute: "plan", is: "pro" };
const isSegment = (segment: string) => ({ segment });

/** Sets the progress of a segment, as the walk does. */
async function setComputing({ service }: TestService, id: string, computing: Partial<Computing> | undefined) {
  const { catalogue } = service.stores;
  const rule = (await catalogue.segmentsById([id])).get(id)?.byRule;
  const since = rule?.computing?.since ?? 0;
  await catalogue.setComputing(id, rule ?? { change: -1 }, computing && { since, ...computing });
}

describe("a segment by rule", () => {
  const service = serviceOfEachTest({ roles: ["api"] });
  const { ask, data, refusal } = catalogueOf(service);
  const put = (id: string, rule: unknown, other: object = {}) => data("PUT", `/api/segment/${id}`, { rule, ...other });
  const marks = async () => await data("GET", "/api/mark?dimension=segment&dimension_id=s");

  it("is computing from the response to its PUT on, and decides messages from then on", async () => {
    const before = Date.now();
    const made = (await put("s", pro, { name: "Pro" })) as unknown as { computing: { since: string } };
    expect(made).to.deep.include({ id: "s", name: "Pro", table: "user", size: 0, by_rule: true, rule: pro });
    expect(made.computing).to.include({ done: 0, of: 0 });
    expect(Date.parse(made.computing.since)).to.be.within(before, Date.now());
    await service.fetch("/collect/json/web", { method: "POST", json: [{ _uid: "a", plan: "pro" }, { _uid: "b" }] });
    expect(await data("GET", "/api/segment/s")).to.deep.include({ size: 1, computing: { ...made.computing, of: 2 } });
    expect((await service.fetch("/api/entity/user/_uid/a")).status).to.equal(200);
    await data("PUT", "/api/segment/pushed", {});
    expect(await data("GET", "/api/segment")).to.deep.equal([
      { id: "pushed", name: "pushed", table: "user", size: 0, by_rule: false, computing: null },
      await data("GET", "/api/segment/s"),
    ]);
    expect(await data("GET", "/api/segment/sizes")).to.deep.equal([
      { id: "pushed", name: "pushed", size: 0 },
      { id: "s", name: "Pro", size: 1 },
    ]);
  });

  it("does not change when the same rule is put again, except for its name", async () => {
    const first = await put("s", { all: [{ attribute: "plan", is: ["pro"], ignore_case: true }] });
    const again = await put(
      "s",
      { all: [{ ignore_case: true, is: "pro", attribute: ["plan"] }] },
      { name: "New name" },
    );
    expect(again).to.deep.equal({ ...first, name: "New name" });
    expect(await marks()).to.have.length(1);
  });

  it("makes a mark on its charts for each change, which contains nothing of the rule", async () => {
    await put("s", { attribute: "plan", is: "zqcanaryqz" });
    await put("s", pro);
    const made = (await marks()) as unknown as readonly Record<string, string>[];
    expect(made.map(({ text }) => text).sort()).to.deep.equal(["Rule changed", "Rule made"]);
    for (const mark of made) {
      expect(mark).to.include({ dimension: "segment", dimension_id: "s" });
      expect(Object.keys(mark).sort()).to.deep.equal(["dimension", "dimension_id", "id", "text", "ts"]);
    }
  });

  it("shows its rule to a key with admin alone", async () => {
    await put("s", pro);
    const { key } = await newKey(service, ["metric:read", "entity:read", "entity:export", "metric:write"]);
    for (const path of [
      "/api/segment",
      "/api/segment/s",
      "/api/segment?range=1d",
      "/api/segment?id=s",
      "/api/segment?q=s",
    ]) {
      const text = await (await service.fetch(path, { key })).text();
      expect(text, path).to.include('"by_rule":true').and.not.include("plan").and.not.include("byRule");
      expect(await (await service.fetch(path)).text(), path).to.include('"rule":{"attribute":"plan","is":"pro"}');
    }
  });

  it("has the progress of the walk, as does /metrics: the smallest of its own and of the segments that its rule names", async () => {
    await service.fetch("/collect/json/web", { method: "POST", json: [1, 2, 3, 4].map((n) => ({ _uid: `u${n}` })) });
    const progress = async (id: string) => {
      const { computing } = (await data("GET", `/api/segment/${id}`)) as unknown as {
        computing: { done: number; of: number } | null;
      };
      return computing && [computing.done, computing.of];
    };
    await put("low", pro);
    await put("middle", { not: isSegment("low") });
    await put("high", { any: [isSegment("middle"), { attribute: "x" }] });
    await put("apart", pro);
    const place = { lap: 3, after: "", passed: 12 };
    expect(await moveWalk(service.service.stores.facts, "user", firstPlace, place)).to.equal(true);
    expect(await progress("low")).to.deep.equal([0, 4]);
    const start = { lap: 2, after: "" };
    for (const [id, passed] of [
      ["low", 9],
      ["middle", 11],
      ["apart", 2],
    ] as const) {
      await setComputing(service, id, { start: { ...start, passed } });
    }
    await setComputing(service, "high", undefined);
    const all = async () => await Promise.all(["low", "middle", "high", "apart"].map(progress));
    expect(await all()).to.deep.equal([
      [3, 4],
      [1, 4],
      [1, 4],
      [4, 4],
    ]);
    const metrics = await (await service.fetch("/metrics")).text();
    expect(metrics)
      .to.match(/^entity_metrics_rules_computing 4$/m)
      .and.match(/^entity_metrics_rules_left 3$/m);
    await setComputing(service, "middle", undefined);
    expect(await all()).to.deep.equal([
      [3, 4],
      [3, 4],
      [3, 4],
      [4, 4],
    ]);
    await setComputing(service, "low", undefined);
    expect(await all()).to.deep.equal([null, null, null, [4, 4]]);
  });

  it("and the others that are put at the same time are all stored", async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `s${n}`);
    await Promise.all(ids.map((id) => put(id, { attribute: id })));
    expect(
      ((await data("GET", "/api/segment")) as unknown as { rule: object }[]).map(({ rule }) => rule),
    ).to.deep.equal(ids.map((id) => ({ attribute: id })));
  });

  it("cannot become a pushed one or one of another table, and a pushed one cannot get a rule", async () => {
    await put("ruled", pro);
    await data("PUT", "/api/segment/pushed", {});
    for (const [id, body, code, path] of [
      ["ruled", {}, "by_rule", "rule"],
      ["ruled", { rule: null, name: "x" }, "by_rule", "rule"],
      ["ruled", { table: "account", rule: pro }, "other_table", "table"],
      ["pushed", { rule: pro }, "pushed", "rule"],
    ] as const) {
      expect(await refusal("PUT", `/api/segment/${id}`, body)).to.deep.equal({ status: 409, code, path });
    }
    expect(await data("GET", "/api/segment/ruled")).to.deep.include({ name: "ruled", rule: pro });
  });

  it("is not deleted while a rule names it, which the error names", async () => {
    await data("PUT", "/api/segment/low", {});
    await put("high", isSegment("low"));
    const { status, body } = await ask("DELETE", "/api/segment/low");
    expect([status, body.message]).to.deep.equal([
      409,
      "This segment is named by the rule of segment high: change or delete them first",
    ]);
    await data("DELETE", "/api/segment/high");
    expect(await data("DELETE", "/api/segment/low")).to.deep.equal({ id: "low" });
  });

  it("may be nested as deep as a rule may, and not deeper", async () => {
    const nested = (depth: number): object =>
      depth === 1 ? { attribute: "plan", is: ["pro", "team"] } : { all: [nested(depth - 1)] };
    expect(await put("s", nested(8))).to.deep.include({ rule: nested(8) });
    for (const depth of [9, 100, 1_000]) {
      expect(await refusal("PUT", "/api/segment/s", { rule: nested(depth) })).to.include({ code: "rule_too_large" });
    }
  });

  it("of the former id preview stays readable and deletable, and no new one has it", async () => {
    await service.service.stores.catalogue.putSegment({ id: "preview", name: "Old", table: "user" });
    expect(await refusal("PUT", "/api/segment/preview", {})).to.include({ status: 400, code: "reserved_id" });
    expect(await data("GET", "/api/segment/preview")).to.include({ name: "Old" });
    expect(await data("DELETE", "/api/segment/preview")).to.deep.equal({ id: "preview" });
    const json = { _uid: "a", segments: ["preview"] };
    const response = await service.fetch("/collect/json/web", { method: "POST", json });
    expect([response.status, await response.text()].join()).to.include("invalid_segments");
  });
});

describe("a PUT of a rule", () => {
  const service = serviceOfSuite({ roles: ["api"] });
  const { data, refusal } = catalogueOf(service);
  before(async () => {
    await data("PUT", "/api/segment/pushed", {});
    await data("PUT", "/api/segment/account", { table: "account" });
    await data("PUT", "/api/segment/low", { rule: isSegment("pushed") });
    await data("PUT", "/api/segment/high", { rule: isSegment("low") });
  });

  const refusals: [rule: unknown, code: string, path: string][] = [
    ["x", "invalid_type", "rule"],
    [[pro], "invalid_type", "rule"],
    [{}, "invalid_value", "rule"],
    [{ all: [] }, "invalid_value", "rule.all"],
    [{ all: [pro, { any: [pro, null] }] }, "not_an_object", "rule.all[1].any[1]"],
    [{ all: [pro, { attribute: "x", is: [null] }] }, "invalid_type", "rule.all[1].is[0]"],
    [{ attribute: "plan", iss: 1 }, "unknown_field", "rule"],
    [{ attribute: "email", is: "a@b.de" }, "identity_in_rule", "rule.is"],
    [{ not: isSegment("nothing") }, "unknown_segment", "rule.not.segment"],
    [{ any: [pro, isSegment("account")] }, "unknown_segment", "rule.any[1].segment"],
    [isSegment("high"), "cyclic_rule", "rule.segment"],
    [{ not: { all: [isSegment("low")] } }, "cyclic_rule", "rule.not.all[0].segment"],
    [{ any: Array(50).fill({ any: Array(2).fill(pro) }) }, "rule_too_large", "rule.any[25].any[0]"],
    [{ attribute: "x", is: "y".repeat(70_000) }, "rule_too_large", "rule"],
  ];
  for (const [rule, code, path] of refusals) {
    it(`with ${JSON.stringify(rule).slice(0, 60)} is refused: ${code} at ${path}`, async () => {
      expect(await refusal("PUT", "/api/segment/low", { rule })).to.deep.equal({ status: 400, code, path });
      expect(await data("GET", "/api/segment/low")).to.deep.include({ rule: isSegment("pushed") });
    });
  }

  it("is refused in an unknown table, and as one more than 200", async () => {
    expect(await refusal("PUT", "/api/segment/s", { table: "no", rule: pro })).to.include({ code: "unknown_table" });
    const { catalogue } = service.service.stores;
    for (let n = 0; n < 198; n += 1) {
      const { generation } = await catalogue.rules();
      await catalogue.putRule({ id: `n${n}`, name: "n", table: "account", rule: pro, names: [] }, generation, 0);
    }
    expect(await refusal("PUT", "/api/segment/s", { rule: pro })).to.include({ code: "too_many_rules" });
    expect(await data("PUT", "/api/segment/low", { rule: isSegment("pushed") })).to.deep.include({ id: "low" });
  });
});
