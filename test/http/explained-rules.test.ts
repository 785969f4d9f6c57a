import { expect } from "chai";
import { collectThrough } from "../support/requests.js";
import { newKey, serviceOfSuite } from "../support/service.js";

const DAY = 86_400_000;

describe("why a person is in a segment by rule, or not", () => {
  const service = serviceOfSuite({ roles: ["api"] });
  const put = async (id: string, json: object) =>
    expect((await service.fetch(`/api/segment/${id}`, { method: "PUT", json })).status, id).to.equal(200);
  const collect = (message: object, stream?: string) => collectThrough(service, [message], stream);
  const ask = (query: string, key = service.key) =>
    service.fetch(`/api/entity/user/_uid/ann/segments${query}`, { key });
  const why = async (id: string, key = service.key) => {
    const { data } = (await (await ask(`?id=${id}`, key)).json()) as { data: Record<string, unknown>[] };
    return data;
  };
  const seenAt = Date.now() - DAY;
  const ends = Date.now() + 5 * DAY;

  before(async () => {
    await put("pro", { name: "On Pro", rule: { attribute: "plan", is: "zqcanaryqz" } });
    await put("pushed", {});
    await put("other", {});
    await put("account", { table: "account" });
    await put("ruled-account", { table: "account", rule: { attribute: "x" } });
    await put("seen", { rule: { profile: "seen_at", after: "now-30d" } });
    await put("free", {
      rule: {
        all: [
          { not: { any: [{ segment: "pro" }, { segment: "pushed" }] } },
          { stream: "web", count: { at_least: 3, within: "2d" } },
          { attribute: "trial_ends", after: "now" },
        ],
      },
    });
    const at = (ms: number) => new Date(ms).toISOString();
    await collect({ _uid: "ann", trial_ends: at(ends), phone: "zqcanaryqz-1", segments: ["pushed"] });
    await collect({ _uid: "ann", plan: "zqcanaryqz", at: at(seenAt) }, "web?timestamp_field=at");
  });

  it("is every condition with holds, for a person who is in it", async () => {
    const [row, ...others] = await why("pro");
    expect(others).to.deep.equal([]);
    expect(row).to.have.all.keys("id", "name", "member", "since", "by");
    expect(row).to.deep.include({
      id: "pro",
      name: "On Pro",
      member: true,
      by: { rule: { attribute: "plan", is: "zqcanaryqz", holds: true }, until: null },
    });
  });

  it("is every condition with holds, and the time of the next change, for a person who is not", async () => {
    expect(await why("free")).to.deep.equal([
      {
        id: "free",
        name: "free",
        member: false,
        by: {
          rule: {
            all: [
              {
                not: {
                  any: [
                    { segment: "pro", holds: true },
                    { segment: "pushed", holds: true },
                  ],
                  holds: true,
                },
                holds: false,
              },
              { stream: "web", count: { at_least: 3, within: "2d" }, holds: false },
              { attribute: "trial_ends", after: "now", holds: true },
            ],
            holds: false,
          },
          until: null,
        },
      },
    ]);
  });

  it("contains the instant at which time alone changes a decision", async () => {
    const [row] = (await why("seen")) as unknown as readonly { by: { until: string } }[];
    expect(Date.parse(row?.by.until ?? "")).to.be.within(Date.now() + 29 * DAY, Date.now() + 30 * DAY + 1);
    await put("trial", { rule: { attribute: "trial_ends", after: "now" } });
    await collect({ _uid: "ann" });
    expect(await why("trial")).to.have.nested.property("[0].by.until", new Date(ends + 1).toISOString());
  });

  it("is evaluated now, while the stored membership may wait for the walk", async () => {
    await put("later", { rule: { attribute: "plan" } });
    const [row] = await why("later");
    expect(row).to.deep.include({ member: false });
    expect(row).to.have.nested.property("by.rule.holds", true);
  });

  it("has member in each row of the list, which names only segments that the person is in", async () => {
    const { data } = (await (await ask("")).json()) as { data: { id: string; member: boolean; by: object }[] };
    expect(data.slice(0, 2).map(({ id, member }) => [id, member])).to.deep.equal([
      ["pro", true],
      ["pushed", true],
    ]);
    expect(data[1]?.by).to.have.all.keys("stream", "event_time", "received_at");
    expect(data.map(({ id }) => id))
      .to.not.include("free")
      .and.not.include("other");
  });

  const cases: [id: string, status: number, ids: string[]][] = [
    ["pushed", 200, ["pushed"]],
    ["other", 200, []],
    ["account", 200, []],
    ["ruled-account", 200, []],
    ["nothing", 404, []],
    ["", 404, []],
  ];
  for (const [id, status, ids] of cases) {
    it(`with ?id=${id} is ${status} with ${ids.length} rows`, async () => {
      const response = await ask(`?id=${id}`);
      const { data } = (await response.json()) as { data: { id: string }[] | null };
      expect([response.status, (data ?? []).map((row) => row.id)]).to.deep.equal([status, ids]);
    });
  }

  it("contains no value of an attribute, and no rule for a key with the bound fields", async () => {
    const { key } = await newKey(service, ["entity:read"], Date.now(), { fields: ["segments"] });
    for (const id of ["pro", "free"]) {
      const [row] = await why(id, key);
      expect(row).to.deep.include({ id, by: null });
      expect(await (await ask(`?id=${id}`)).text()).to.not.include("zqcanaryqz-1");
    }
    expect(await (await ask("", key)).text())
      .to.not.include("holds")
      .and.not.include("attribute");
    expect(await why("pushed", key)).to.have.nested.property("[0].by.stream", "web");
  });
});
