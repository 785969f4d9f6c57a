import { expect } from "chai";
import { catalogueOf } from "../support/catalogue-calls.js";
import { collectThrough } from "../support/requests.js";
import { newKey, serviceOfSuite } from "../support/service.js";

const nobody = { all: [{ attribute: "plan", is: "none" }] };
const everybody = { not: nobody };

/** The interval of Wilson, as text books have it, times the number of all. */
function wilson(matching: number, sampled: number, of: number): number[] {
  const [z, p] = [1.96, matching / sampled];
  const middle = p + z ** 2 / (2 * sampled);
  const half = z * Math.sqrt((p * (1 - p)) / sampled + z ** 2 / (4 * sampled ** 2));
  return [middle - half, middle + half].map((share) => Math.round((share / (1 + z ** 2 / sampled)) * of));
}

describe("a preview of a rule", () => {
  const service = serviceOfSuite({ roles: ["api"] });
  const { data, refusal } = catalogueOf(service);
  const preview = async (json: object) => (await data("POST", "/api/segment/preview", json)) as unknown as PreviewData;
  interface PreviewData {
    readonly matching: number;
    readonly estimate: number;
    readonly low: number;
    readonly high: number;
  }
  const collect = (messages: readonly object[], stream?: string) => collectThrough(service, messages, stream);

  before(async () => {
    await data("PUT", "/api/segment/pushed", {});
    await data("PUT", "/api/segment/others", { table: "account" });
    await data("PUT", "/api/segment/pro", { rule: { attribute: "plan", is: "pro" } });
    await data("PUT", "/api/segment/of-account", { table: "account", rule: { attribute: "plan" } });
    await collect([
      { _uid: "a", plan: "pro", seats: 5, segments: ["pushed"] },
      { _uid: "b", plan: "pro" },
      { _uid: "c", plan: "free", seats: 9, segments: ["pushed"] },
      { _uid: "d" },
    ]);
    await collect([{ _uid: "d" }], "shop");
  });

  const exact: [rule: object, matching: number][] = [
    [everybody, 4],
    [nobody, 0],
    [{ attribute: "plan", is: "pro" }, 2],
    [{ attribute: "seats", above: 5 }, 1],
    [{ segment: "pro" }, 2],
    [{ all: [{ segment: "pro" }, { segment: "pushed" }] }, 1],
    [{ stream: "web", count: { at_least: 1, within: "1d" } }, 4],
    [{ stream: ["web", "shop"], count: { at_least: 2, within: "1d" } }, 1],
  ];
  for (const [rule, matching] of exact) {
    it(`is exact for at most 2,000 profiles: ${JSON.stringify(rule)} matches ${matching} of 4`, async () => {
      const { computing: _, ...found } = (await preview({ rule })) as PreviewData & { computing: boolean };
      const [estimate, low, high] = [matching, matching, matching];
      expect(found).to.deep.equal({ of: 4, sampled: 4, matching, estimate, low, high, exact: true });
    });
  }

  it("of an empty table is exact and counts nothing", async () => {
    const zeros = { of: 0, sampled: 0, matching: 0, estimate: 0, low: 0, high: 0 };
    expect(await preview({ table: "content", rule: everybody })).to.deep.equal({
      ...zeros,
      exact: true,
      computing: false,
    });
  });

  it("with id has how many would enter and leave the segment, and changes nothing", async () => {
    const rule = { any: [{ attribute: "seats", above: 5 }, { segment: "pushed" }] };
    const before = await data("GET", "/api/segment/pro");
    expect(await preview({ id: "pro", rule })).to.include({ matching: 2, joining: 1, leaving: 1 });
    expect(await preview({ id: "pro", rule: { attribute: "plan", is: "pro" } })).to.include({ joining: 0, leaving: 0 });
    expect(await data("GET", "/api/segment/pro")).to.deep.equal(before);
    expect(await data("GET", "/api/mark?dimension=segment&dimension_id=pro")).to.have.length(1);
  });

  it("tells whether a segment that the rule names is computing", async () => {
    expect(await preview({ rule: { segment: "pro" } })).to.include({ computing: true });
    expect(await preview({ rule: { segment: "pushed" } })).to.include({ computing: false });
  });

  const refusals: [body: object, code: string, path: string][] = [
    [{}, "required", "rule"],
    [{ rule: nobody, tabel: "user" }, "unknown_field", ""],
    [{ rule: nobody, table: "nothing" }, "unknown_table", "table"],
    [{ rule: { all: [{}] } }, "invalid_value", "rule.all[0]"],
    [{ rule: { attribute: "email", is: "a@b.de" } }, "identity_in_rule", "rule.is"],
    [{ rule: { segment: "nothing" } }, "unknown_segment", "rule.segment"],
    [{ rule: { segment: "others" } }, "unknown_segment", "rule.segment"],
    [{ rule: nobody, id: "nothing" }, "unknown_segment", "id"],
    [{ rule: nobody, id: "" }, "unknown_segment", "id"],
    [{ rule: nobody, id: "pushed" }, "unknown_segment", "id"],
    [{ rule: nobody, id: "of-account" }, "unknown_segment", "id"],
    [{ rule: { segment: "pro" }, id: "pro" }, "cyclic_rule", "rule.segment"],
  ];
  for (const [body, code, path] of refusals) {
    it(`with ${JSON.stringify(body)} is refused: ${code} at ${path || "no field"}`, async () => {
      expect(await refusal("POST", "/api/segment/preview", body)).to.deep.equal({ status: 400, code, path });
    });
  }

  it("skips profiles whose data was altered", async () => {
    await collect(
      [1, 2, 3].map((n) => ({ url: `https://a.example/${n}`, read: n })),
      "web?table=url",
    );
    const { entities } = service.service.stores;
    const [id = ""] = await entities.idsAfter(undefined, 1, "url");
    const entity = (await entities.load([id])).profiles.get(id);
    if (entity === undefined) throw new Error("no profile");
    const profile = {
      changedSegments: new Set<string>(),
      turns: [],
      addedHashes: new Set<string>(),
      mergedFrom: [],
    };
    const nothing = { messages: [], lastingIds: [], uncounted: new Set<string>(), keys: new Map(), segments: [] };
    const { generation } = await service.service.stores.catalogue.rules();
    const sealed = entity.sealed.map((byte, at) => (at === 20 ? byte ^ 1 : byte));
    const commit = { ...nothing, owners: new Map(), cutOffs: new Map(), generation, at: 0 };
    const stored = await entities.commit({ ...commit, profiles: [{ ...profile, entity: { ...entity, sealed } }] });
    expect(stored).to.equal(true);
    const found = await preview({ table: "url", rule: { attribute: "read" } });
    expect(found).to.include({ of: 3, sampled: 2, matching: 2, exact: true });
  });

  it("of more than 2,000 profiles is an estimate with its 95 % interval", async () => {
    const lines = Array.from({ length: 2_500 }, (_, n) => ({ product_id: `p-${n}`, even: n % 2 === 0, n }));
    await collect(lines, "web?table=product");
    const of = 2_500;
    const sampled = 2_000;
    const table = "product";
    const common = { of, sampled, exact: false, computing: false };
    expect(await preview({ table, rule: everybody })).to.deep.equal({
      ...common,
      matching: sampled,
      estimate: of,
      low: 2_495,
      high: of,
    });
    expect(await preview({ table, rule: nobody })).to.deep.equal({
      ...common,
      matching: 0,
      estimate: 0,
      low: 0,
      high: 5,
    });
    const half = await preview({ table, rule: { attribute: "even", is: true } });
    expect(half.matching).to.be.within(750, 1_250);
    expect(half.estimate).to.equal(Math.round((half.matching / sampled) * of));
    expect([half.low, half.high]).to.deep.equal(wilson(half.matching, sampled, of));
    const [newest, again] = await Promise.all(
      [1, 2].map(() => preview({ table, rule: { attribute: "n", above: 2_000 } })),
    );
    expect(newest?.matching).to.be.within(300, 499);
    expect(again?.matching).to.be.within(300, 499);
  });

  it("waits for others, and is refused with Retry-After if too many wait", async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const json = { table: "product", rule: everybody };
        const response = await service.fetch("/api/segment/preview", { method: "POST", json });
        await response.arrayBuffer();
        return [response.status, response.headers.get("retry-after")].join(" ");
      }),
    );
    expect([...new Set(answers)].sort()).to.deep.equal(["200 ", "429 1"]);
    expect(await preview({ rule: everybody })).to.include({ matching: 4 });
  });
});

describe("the list of attributes", () => {
  const service = serviceOfSuite({ roles: ["api"] });
  const list = async (query = "", key = service.key) => {
    const response = await service.fetch(`/api/attribute${query}`, { key });
    const { data, errors } = (await response.json()) as { data: unknown; errors?: { code: string; path: string }[] };
    return { status: response.status, data, issue: errors?.[0] };
  };
  const collect = async (json: object, table = "user") =>
    expect((await service.fetch(`/collect/json/web?table=${table}`, { method: "POST", json })).status).to.equal(200);

  it("has the names and types of attributes, the most frequent first, and no value or identity field", async () => {
    await collect([
      { _uid: "zqcanaryqz-1", email: "zqcanaryqz@example.org", plan: "zqcanaryqz", seats: 1, tags: ["a"] },
      { _uid: "zqcanaryqz-2", plan: 5, vip: true, address: { city: "zqcanaryqz" } },
      { _uid: "zqcanaryqz-3", plan: true, tags: [] },
      { _uid: "zqcanaryqz-4", gone: "zqcanaryqz" },
      { _uid: "zqcanaryqz-4", gone: null },
    ]);
    await collect({ company_id: "c", size: 7 }, "company");
    const { data } = await list();
    expect(data).to.deep.equal([
      { name: "plan", types: ["string", "number", "boolean"], share: 0.75 },
      { name: "tags", types: ["list"], share: 0.5 },
      { name: "address", types: ["object"], share: 0.25 },
      { name: "seats", types: ["number"], share: 0.25 },
      { name: "vip", types: ["boolean"], share: 0.25 },
    ]);
    expect((await list("?table=company")).data).to.deep.equal([{ name: "size", types: ["number"], share: 1 }]);
    expect((await list("?table=content")).data).to.deep.equal([]);
  });

  it("has at most 1,000 names", async () => {
    for (const from of [0, 600]) {
      const names = Array.from({ length: 600 }, (_, n) => [`name${from + n}`, n]);
      await collect({ content_id: `c${from}`, ...Object.fromEntries(names), both: 1 }, "content");
    }
    const { data } = await list("?table=content");
    expect(data).to.have.length(1_000);
    expect(data).to.have.nested.property("[0].name", "both");
  });

  it("is refused for an unknown table, an unknown parameter and a key with the bound fields", async () => {
    expect(await list("?table=nothing")).to.deep.include({ status: 400 });
    expect((await list("?table=nothing")).issue).to.include({ code: "unknown_table", path: "table" });
    expect((await list("?tabel=user")).issue).to.include({ code: "unknown_parameter" });
    const bounded = await newKey(service, ["entity:read", "metric:read"], Date.now(), { fields: ["plan"] });
    expect(await list("", bounded.key)).to.deep.include({ status: 403 });
    const { key } = await newKey(service, ["entity:read", "metric:read"]);
    expect(await list("", key)).to.deep.include({ status: 200 });
  });
});
