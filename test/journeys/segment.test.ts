import { gzipSync } from "node:zlib";
import { expect } from "chai";
import type { KeyBounds } from "../../src/keys/api-key.js";
import { deleteEntity, isCompleteIn } from "../support/requests.js";
import { type FetchOptions, newKey, serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

const AT = Date.UTC(2026, 5, 1, 12);
const iso = (ms: number) => new Date(ms).toISOString();

interface Exported {
  readonly identities: Record<string, string[]>;
  readonly attributes: Record<string, unknown>;
  readonly messages: { readonly stream: string; readonly event_time: string; readonly body: object }[];
}

describe("Segment's API", () => {
  let now = AT;
  const service = serviceOfSuite({ history: { retention: "30d" } }, { clock: () => now });
  let key = "";
  before(async () => {
    key = (await newKey(service, ["entity:write"], AT)).key;
  });

  /** Sends a call; rejects unless it is answered with success. */
  async function send(path: string, json: object, options: FetchOptions = {}) {
    const headers = { authorization: `Basic ${Buffer.from(`${options.key ?? key}:`).toString("base64")}` };
    const response = await service.fetch(`/v1/${path}`, { method: "POST", json, headers });
    const answer = await response.text();
    expect([response.status, answer]).to.deep.equal([200, '{"success":true}']);
  }

  /** The export of an entity; undefined if there is none. */
  async function exported(field: string, value: string, table = "user"): Promise<Exported | undefined> {
    const response = await service.fetch("/api/entity/export", { method: "POST", json: { table, field, value } });
    const text = await response.text();
    if (response.status === 404) return undefined;
    const [profile, ...messages] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const values = Object.entries(profile.attributes as Record<string, { value: unknown }>);
    return {
      identities: profile.identities,
      attributes: Object.fromEntries(values.map(([name, { value }]) => [name, value])),
      messages: messages.slice(0, -1),
    };
  }

  async function counted(stream = "segment"): Promise<number> {
    const response = await service.fetch(`/api/stream?q=${stream}`);
    const { data } = (await response.json()) as { data: { stream: string; slot: { count: number } }[] };
    return data.find((row) => row.stream === stream)?.slot.count ?? 0;
  }

  const rows: [string, string, object, [string, string], object, object][] = [
    [
      "identify sets traits and joins identities",
      "identify",
      {
        userId: "m-1",
        anonymousId: "m-1a",
        traits: { email: " M1@Example.com", plan: "paid", address: { city: "Oslo" } },
      },
      ["_uid", "m-1a"],
      { user_id: ["m-1"], _uid: ["m-1a"], email: ["m1@example.com"] },
      { plan: "paid", address: { city: "Oslo" } },
    ],
    [
      "identify takes the traits of its context if it has none of its own",
      "i",
      { userId: "m-2", anonymousId: null, context: { traits: { plan: "trial" } } },
      ["user_id", "m-2"],
      { user_id: ["m-2"] },
      { plan: "trial" },
    ],
    [
      "identify ignores traits that would set memberships or identities",
      "identify",
      { userId: 3, anonymousId: "", traits: { segments: ["vip"], _uid: "m-1a", user_id: "m-1", email: null, age: 3 } },
      ["user_id", "3"],
      { user_id: ["3"] },
      { age: 3 },
    ],
    ...["track", "page", "screen"].map((type): (typeof rows)[number] => [
      `${type} names a person and sets no attribute`,
      type,
      { anonymousId: `m-${type}`, event: "Bought", name: "Shop", properties: { price: 3 }, traits: { plan: "x" } },
      ["_uid", `m-${type}`],
      { _uid: [`m-${type}`] },
      {},
    ]),
    [
      "group sets the account of a person",
      "group",
      { userId: "m-7", groupId: "acme", traits: { plan: "team" } },
      ["user_id", "m-7"],
      { user_id: ["m-7"] },
      { account_id: "acme" },
    ],
  ];
  for (const [title, path, call, [field, value], identities, attributes] of rows) {
    it(title, async () => {
      const before = await counted();
      await send(path, { ...call, writeKey: key });
      const { messages, ...profile } = (await exported(field, value)) as Exported;
      expect(profile).to.deep.equal({ identities, attributes });
      expect(messages.map(({ stream, body }) => ({ stream, body }))).to.deep.equal([{ stream: "segment", body: call }]);
      expect((await counted()) - before).to.equal(1);
    });
  }

  it("group sets the traits of an account and archives nothing of the person there", async () => {
    const context = { ip: "10.0.0.7", traits: { email: "g@example.com" } };
    await send("g", { userId: "g-1", groupId: "globex", context, traits: { plan: "team", domain: "globex.example" } });
    const account = (await exported("account_id", "globex", "account")) as Exported;
    expect(account.identities).to.deep.equal({ account_id: ["globex"] });
    expect(account.attributes).to.deep.equal({ plan: "team" });
    const body = { type: "group", groupId: "globex", traits: { plan: "team", domain: "globex.example" } };
    expect(account.messages.map((message) => message.body)).to.deep.equal([body]);
  });

  const aliases: [string, object[], string, object][] = [
    ["a user id", [{ type: "identify", userId: "a1-old", traits: { plan: "x" } }], "a1", { user_id: ["a1", "a1-old"] }],
    [
      "an anonymous id",
      [{ type: "track", anonymousId: "a2-old", event: "x" }],
      "a2",
      { user_id: ["a2"], _uid: ["a2-old"] },
    ],
    ["an id that nobody has", [], "a3", { user_id: ["a3"], _uid: ["a3-old"] }],
  ];
  for (const [title, calls, id, identities] of aliases) {
    for (const together of [true, false]) {
      it(`alias joins ${title} of ${together ? "the same batch" : "an earlier request"}`, async () => {
        const named = (json: unknown) => JSON.parse(JSON.stringify(json).replaceAll(/a\d/g, `$&-${together}`));
        const alias = { type: "alias", userId: id, previousId: `${id}-old` };
        if (!together) await send("batch", { batch: named(calls) });
        await send("batch", { batch: named(together ? [...calls, alias] : [alias]) });
        expect((await exported("user_id", named(id)))?.identities).to.deep.equal(named(identities));
      });
    }
  }

  const times: [string, object, object, number | undefined][] = [
    ["no time", {}, {}, AT],
    ["timestamp alone", { timestamp: iso(AT - 5_000) }, {}, AT - 5_000],
    ["originalTimestamp of RudderStack", { originalTimestamp: iso(AT - 5_000) }, { sentAt: iso(AT) }, AT - 5_000],
    ["a clock that is an hour behind", { timestamp: iso(AT - 3_605_000) }, { sentAt: iso(AT - 3_600_000) }, AT - 5_000],
    ["a clock that is a day ahead", { timestamp: iso(AT + 86_395_000), sentAt: iso(AT + 86_400_000) }, {}, AT - 5_000],
    ["microseconds of Python", { timestamp: "2026-06-01T11:59:55.123456+00:00" }, {}, AT - 4_877],
    ["a sentAt that is no time", { timestamp: iso(AT - 5_000) }, { sentAt: "soon" }, AT - 5_000],
    ["a timestamp that is no time", { timestamp: "now-2d" }, {}, undefined],
    ["a timestamp of 1800", { timestamp: "1800-01-01T00:00:00Z" }, {}, undefined],
    ["a timestamp an hour after sentAt", { timestamp: iso(AT + 3_600_000) }, { sentAt: iso(AT) }, undefined],
  ];
  for (const [index, [title, call, batch, expected]] of times.entries()) {
    it(`computes the event time of a call with ${title}`, async () => {
      await send("batch", { ...batch, batch: [{ type: "track", anonymousId: `t-${index}`, ...call }] });
      const found = (await exported("_uid", `t-${index}`))?.messages.map(({ event_time }) => Date.parse(event_time));
      expect(found).to.deep.equal(expected === undefined ? undefined : [expected]);
    });
  }

  it("applies a message of one key once, also after it was erased or has expired", async () => {
    const call = (id: string, more = {}) => ({ type: "track", anonymousId: id, messageId: `${id} 1`, ...more });
    const calls = ["d-1", "d-2"].map((id) => call(id));
    const before = await counted();
    await send("batch", { batch: [...calls, ...calls, { ...call("d-1"), event: "another body" }] });
    for (let times = 0; times < 2; times += 1) await send("batch", { batch: calls });
    await send("track", call("d-2"));
    expect(await counted()).to.equal(before + 2);

    // The repeat is sent after the deletion and names no time: only its id shows that it was stored before.
    const { body } = await deleteEntity(service, "user/_uid/d-1");
    await send("batch", { batch: calls });
    await until("the deletion is complete", () => isCompleteIn(service, body.data.request_id));
    await send("batch", { batch: calls });
    expect(await exported("_uid", "d-1")).to.equal(undefined);

    const { history } = service.service.stores;
    while (await history.expire(Number.MAX_SAFE_INTEGER));
    await send("batch", { batch: calls });
    expect((await exported("_uid", "d-2"))?.messages).to.deep.equal([]);

    // A later message, and the same name under another key, are new.
    await send("track", call("d-1", { messageId: "d-1 2" }));
    await send("track", call("d-2"), { key: (await newKey(service, ["entity:write"], now)).key });
    expect([
      (await exported("_uid", "d-1"))?.messages.length,
      (await exported("_uid", "d-2"))?.messages.length,
    ]).to.deep.equal([1, 1]);
  });

  it("applies both messages of a group once when it is repeated", async () => {
    const call = { userId: "o-1", groupId: "once", messageId: "o 1", traits: { plan: "one" } };
    for (let times = 0; times < 2; times += 1) await send("group", call);
    expect((await exported("account_id", "once", "account"))?.messages.length).to.equal(1);
    expect((await exported("user_id", "o-1"))?.messages.length).to.equal(1);
  });

  it("drops a message of a deleted person whose corrected time is before the deletion", async () => {
    await send("track", { anonymousId: "e-1", messageId: "e 1" });
    now += 60_000;
    await deleteEntity(service, "user/_uid/e-1");
    now += 60_000;
    const late = { anonymousId: "e-1", messageId: "e 2", timestamp: iso(0), sentAt: iso(90_000) };
    await send("track", late);
    expect(await exported("_uid", "e-1")).to.equal(undefined);
    await send("track", { ...late, messageId: "e 3", sentAt: iso(30_000) });
    expect((await exported("_uid", "e-1"))?.messages.length).to.equal(1);
    now = AT;
  });

  const bounds: [string, KeyBounds, object, object][] = [
    ["stream", { stream: "web" }, { userId: "b-1", anonymousId: "b-1a" }, { user_id: ["b-1"], _uid: ["b-1a"] }],
    [
      "by",
      { by: "_uid" },
      { userId: "b-2", anonymousId: "b-2a", traits: { email: "b@example.com" } },
      { _uid: ["b-2a"] },
    ],
  ];
  for (const [name, bound, call, identities] of bounds) {
    it(`stays within the bound ${name} of its key`, async () => {
      const bounded = await newKey(service, ["entity:write"], AT, bound);
      await send("identify", { ...call, groupId: "b" }, { key: bounded.key });
      const found = await exported("_uid", (call as { anonymousId: string }).anonymousId);
      expect(found?.identities).to.deep.equal(identities);
      expect(found?.messages.map(({ stream }) => stream)).to.deep.equal([bound.stream ?? "segment"]);
    });
  }

  it("takes a gzip body with the key in it, of any content type", async () => {
    const body = gzipSync(
      JSON.stringify({ writeKey: key, batch: [{ type: "page", anonymousId: "z-1", writeKey: key }] }),
    );
    const headers = { "content-type": "text/plain", "content-encoding": "gzip" };
    const response = await service.fetch("/v1/b", { method: "POST", key: null, headers, body });
    expect([response.status, await response.json()]).to.deep.equal([200, { success: true }]);
    expect((await exported("_uid", "z-1"))?.messages[0]?.body).to.deep.equal({ type: "page", anonymousId: "z-1" });
  });
});
