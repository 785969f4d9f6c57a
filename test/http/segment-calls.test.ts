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

  const joins: [string, object, object | undefined][] = [
    ["its anonymousId without a previousId", { userId: "U", anonymousId: "Ua" }, { user_id: ["U"], _uid: ["Ua"] }],
    [
      "its anonymousId with a previousId that means nobody",
      { userId: "U", previousId: "null", anonymousId: "Ua" },
      { user_id: ["U"], _uid: ["Ua"] },
    ],
    ["nothing with one identity alone", { userId: "U" }, { user_id: ["U"] }],
    ["nothing with a previousId that is its userId", { userId: "U", previousId: "U" }, { user_id: ["U"], _uid: ["U"] }],
  ];
  for (const [index, [title, call, identities]] of joins.entries()) {
    it(`alias joins ${title}`, async () => {
      const named = (json: unknown) => JSON.parse(JSON.stringify(json).replaceAll("U", `al-${index}`));
      const before = await counted();
      await send("alias", named(call));
      expect(await counted()).to.equal(before + 1);
      expect((await exported("user_id", `al-${index}`))?.identities).to.deep.equal(named(identities));
    });
  }

  it("alias with a key that is bound by a field takes previousId as that field without a look-up, and joins no people", async () => {
    await send("batch", { batch: ["known", "k-1", "k-2"].map((userId) => ({ type: "identify", userId })) });
    const { find } = service.service.stores.entities;
    const asked = new Set<string>();
    service.service.stores.entities.find = (hashes, ...rest) => {
      for (const hash of hashes) asked.add(hash);
      return find.call(service.service.stores.entities, hashes, ...rest);
    };
    const alias = async (by: string, call: object) =>
      send("alias", call, { key: (await newKey(service, ["entity:write"], AT, { by })).key });
    for (const previousId of ["known", "stranger"]) {
      asked.clear();
      await alias("_uid", { userId: "k-1", previousId });
      expect(asked.size, previousId).to.equal(1);
      expect((await exported("_uid", previousId))?.identities, previousId).to.deep.equal({ _uid: [previousId] });
    }
    await alias("user_id", { userId: "k-1", previousId: "k-2" });
    service.service.stores.entities.find = find;
    for (const id of ["k-1", "k-2"]) {
      expect((await exported("user_id", id))?.identities).to.deep.equal({ user_id: [id] });
    }
  });

  it("looks up the ids of a long batch some at a time, and finds the people of its earlier calls", async () => {
    const { find } = service.service.stores.entities;
    let most = 0;
    service.service.stores.entities.find = (hashes, ...rest) => {
      most = Math.max(most, hashes.length);
      return find.call(service.service.stores.entities, hashes, ...rest);
    };
    const calls = Array.from({ length: 1_200 }, (_, index) =>
      index % 600 === 0
        ? { type: "identify", userId: `l-${index}` }
        : { type: "alias", userId: `l-${index}-new`, previousId: `l-${index % 600 === 599 ? index - 599 : index}` },
    );
    await send("batch", { batch: calls });
    service.service.stores.entities.find = find;
    expect(most).to.be.within(500, 1_000);
    for (const [id, previous] of [
      [599, 0],
      [1_199, 600],
    ]) {
      const joined = (await exported("user_id", `l-${previous}`))?.identities.user_id;
      expect(joined).to.have.members([`l-${previous}`, `l-${id}-new`]);
    }
  });

  const DAY = 86_400_000;
  const times: [string, object, object, number][] = [
    ["no time", {}, {}, AT],
    ["timestamp alone", { timestamp: iso(AT - 5_000) }, {}, AT - 5_000],
    ["originalTimestamp of RudderStack", { originalTimestamp: iso(AT - 5_000) }, { sentAt: iso(AT) }, AT - 5_000],
    ["a clock that is an hour behind", { timestamp: iso(AT - 7_000) }, { sentAt: iso(AT - 3_600_000) }, AT - 7_000],
    ["a clock that is a minute ahead", { timestamp: iso(AT + 55_000) }, { sentAt: iso(AT + 60_000) }, AT + 55_000],
    ["a clock that is 61 s ahead", { timestamp: iso(AT + 56_000) }, { sentAt: iso(AT + 61_000) }, AT - 5_000],
    [
      "a clock that is a day ahead",
      { originalTimestamp: iso(AT + DAY - 5_000), sentAt: iso(AT + DAY) },
      {},
      AT - 5_000,
    ],
    ["a sentAt before that of its batch", { timestamp: iso(AT - 5_000), sentAt: AT }, { sentAt: AT + DAY }, AT - 5_000],
    [
      "a time that a server has corrected",
      { timestamp: iso(AT - 5_000), originalTimestamp: iso(AT + DAY - 5_000), sentAt: iso(AT + DAY) },
      {},
      AT - 5_000,
    ],
    ["microseconds of Python", { timestamp: "2026-06-01T11:59:55.123456+00:00" }, {}, AT - 4_877],
    ["an offset of four digits", { timestamp: "2026-06-01T17:29:55+0530" }, {}, AT - 5_000],
    ["a blank before the offset", { timestamp: "2026-06-01 17:29:55 +0530" }, {}, AT - 5_000],
    ["UTC as its offset, and blanks around it", { timestamp: " 2026-06-01 11:59:55 UTC " }, {}, AT - 5_000],
    ["an offset of two digits", { timestamp: "2026-06-01T06:59:55.5-05" }, {}, AT - 4_500],
    ["no seconds", { timestamp: "2026-06-01T11:59Z" }, {}, AT - 60_000],
    ["a leap second, a comma and a short offset", { timestamp: "2026-06-01 13:58:60,5+02" }, {}, AT - 59_500],
    ["a comma as decimal sign", { timestamp: "2026-06-01T11:59:55,25Z" }, {}, AT - 4_750],
    ["a sentAt that is no time", { timestamp: iso(AT - 5_000) }, { sentAt: "soon" }, AT - 5_000],
    [
      "a sentAt that is no time in a batch of another one",
      { timestamp: AT + DAY, sentAt: [] },
      { sentAt: AT + DAY },
      AT,
    ],
    ["a timestamp that is no time", { timestamp: "now-2d" }, {}, AT],
    [
      "a timestamp that is no time, and originalTimestamp",
      { timestamp: "Invalid date", originalTimestamp: iso(AT - DAY) },
      { sentAt: iso(AT - DAY) },
      AT - DAY,
    ],
    [
      "the zero time of Go, and originalTimestamp of a clock that is ahead",
      { timestamp: "0001-01-01T00:00:00Z", originalTimestamp: iso(AT + DAY - 5_000) },
      { sentAt: iso(AT + DAY) },
      AT - 5_000,
    ],
    [
      "a timestamp that is ahead, and originalTimestamp",
      { timestamp: iso(AT + DAY), originalTimestamp: iso(AT - 5_000) },
      {},
      AT - 5_000,
    ],
    ["a timestamp of 1800", { timestamp: "1800-01-01T00:00:00Z" }, {}, AT],
    ["a timestamp an hour after sentAt", { timestamp: iso(AT + 3_600_000) }, { sentAt: iso(AT) }, AT],
    ["a sentAt that is too far ahead", { timestamp: iso(AT) }, { sentAt: "9999-01-01T00:00:00Z" }, AT],
  ];
  for (const [index, [title, call, batch, expected]] of times.entries()) {
    it(`computes the event time of a call with ${title}`, async () => {
      await send("batch", { ...batch, batch: [{ type: "track", anonymousId: `t-${index}`, ...call }] });
      const found = (await exported("_uid", `t-${index}`))?.messages.map(({ event_time }) => Date.parse(event_time));
      expect(found).to.deep.equal([expected]);
    });
  }

  /** Codes of the parts that were left out, with their number. */
  async function leftOut(): Promise<ReadonlyMap<string, number>> {
    const text = await (await service.fetch("/metrics")).text();
    const found = text.matchAll(/^entity_metrics_call_parts_left_out_total\{code="(\w+)"\} (\d+)$/gm);
    return new Map(Array.from(found, ([, code = "", count]) => [code, Number(count)]));
  }

  const LONG = "x".repeat(257);
  /** The deepest value that a call may have. */
  const nested = (levels: number): object => (levels === 0 ? {} : { in: nested(levels - 1) });
  /** Calls of `U` with a part that cannot be used: the codes, then what is stored of the call. */
  const unusable: [string, string, string[], { identities?: object; attributes?: object; body?: object }][] = [
    ["an e-mail address that means nobody", '"traits":{"email":"undefined","n":1}', ["placeholder_identity"], {}],
    ["an anonymousId that means nobody", '"anonymousId":"undefined","traits":{"n":1}', ["placeholder_identity"], {}],
    [
      "a userId of 1,025 bytes",
      `"userId":"${"x".repeat(1025)}","anonymousId":"U","traits":{"n":1}`,
      ["identity_too_long"],
      { identities: { _uid: ["U"] } },
    ],
    [
      "a userId that a double rounds",
      '"userId":9007199254740993,"anonymousId":"U","traits":{"n":1}',
      ["invalid_number"],
      { identities: { _uid: ["U"] }, body: { anonymousId: "U", traits: { n: 1 } } },
    ],
    ["traits that are a list", '"traits":[],"context":{"traits":{"n":1}}', ["invalid_traits"], {}],
    ["a trait without a name", '"traits":{"":2,"n":1}', ["invalid_name"], {}],
    ["a trait with a name of 257 characters", `"traits":{"${LONG}":2,"n":1}`, ["invalid_name"], {}],
    [
      "a trait named __proto__",
      '"traits":{"__proto__":{"a":2},"n":1}',
      ["invalid_name"],
      { body: { userId: "U", traits: { n: 1 } } },
    ],
    [
      "a 64-bit number in its context",
      '"context":{"id":1234567890123456789,"of":"U"},"traits":{"n":1}',
      ["invalid_number"],
      { body: { userId: "U", context: { of: "U" }, traits: { n: 1 } } },
    ],
    [
      "numbers that cannot be stored in a trait, in a list and in the objects of a list",
      '"traits":{"n":1,"big":1e999},"properties":{"ids":[1,9007199254740993],"all":[{"id":9007199254740993,"of":2}]}',
      ["invalid_number", "invalid_number", "invalid_number"],
      { body: { userId: "U", traits: { n: 1 }, properties: { all: [{ of: 2 }] } } },
    ],
    [
      "a value nested too deep",
      `"traits":{"n":1},"properties":${JSON.stringify(nested(16))}`,
      ["too_deep"],
      { body: { userId: "U", traits: { n: 1 }, properties: nested(14) } },
    ],
    [
      "lists nested 100,000 deep",
      `"traits":{"n":1},"properties":{"all":${"[".repeat(100_000)}${"]".repeat(100_000)},"of":2}`,
      ["too_deep"],
      { body: { userId: "U", traits: { n: 1 }, properties: { of: 2 } } },
    ],
    ["a time of unknown form", '"timestamp":"yesterday","traits":{"n":1}', ["invalid_time"], {}],
    ["a clock that is a day ahead", `"timestamp":${AT + DAY},"traits":{"n":1}`, ["time_ahead"], {}],
    ["a messageId of 257 characters", `"messageId":"${LONG}","traits":{"n":1}`, ["invalid_message_id"], {}],
    [
      "25,001 traits",
      `"traits":${JSON.stringify(Object.fromEntries(Array.from({ length: 25_001 }, (_, i) => [`n${i}`, i])))}`,
      ["too_many_names"],
      { attributes: {} },
    ],
  ];
  for (const [index, [title, members, codes, stored]] of unusable.entries()) {
    it(`stores and counts a call without a part that cannot be used: ${title}`, async () => {
      const id = `x-${index}`;
      const [before, count] = [await leftOut(), await counted()];
      const named = (text: string) => text.replaceAll("U", id);
      const call = named(members.includes('"userId"') ? `{${members}}` : `{"userId":"U",${members}}`);
      const response = await service.fetch("/v1/identify", { method: "POST", key, body: call });
      expect([response.status, await response.text()]).to.deep.equal([200, '{"success":true}']);

      const { identities = { user_id: ["U"] }, attributes = { n: 1 }, body } = stored;
      const expected = JSON.parse(named(JSON.stringify({ identities, attributes, body: body ?? JSON.parse(call) })));
      const { messages, ...profile } = (await exported(Object.keys(identities)[0] as string, id)) as Exported;
      expect({ ...profile, body: messages[0]?.body }).to.deep.equal(expected);
      const after = [...(await leftOut())].flatMap(([code, now]) => Array(now - (before.get(code) ?? 0)).fill(code));
      expect(after).to.deep.equal(codes);
      expect(await counted()).to.equal(count + 1);
    });
  }

  it("keeps the person of a group without a usable id, and the account of a group without a usable person", async () => {
    const before = await counted();
    await send("group", { userId: "gp-1", groupId: "null", traits: { plan: "a" } });
    await send("group", { userId: "undefined", groupId: "gp-2", traits: { plan: "b" } });
    expect(await counted()).to.equal(before + 2);
    expect((await exported("user_id", "gp-1"))?.attributes).to.deep.equal({});
    expect((await exported("account_id", "gp-2", "account"))?.attributes).to.deep.equal({ plan: "b" });
  });

  it("takes a messageId that names no message as absent", async () => {
    const before = await counted();
    const ids = ["undefined", " NULL ", "\\N", "[object Object]", "0", "", " ", 0, true, {}, LONG];
    for (const messageId of [...ids, ...ids]) await send("track", { anonymousId: "no-id", messageId });
    expect(await counted()).to.equal(before + 2 * ids.length);
  });

  it("archives no write key, wherever it is in a call", async () => {
    const call = {
      type: "track",
      anonymousId: "wk",
      writeKey: key,
      context: { writeKey: key, list: [{ writeKey: key }] },
    };
    await send("batch", { writeKey: key, batch: [call] });
    const body = { type: "track", anonymousId: "wk", context: { list: [{}] } };
    expect((await exported("_uid", "wk"))?.messages.map((message) => message.body)).to.deep.equal([body]);
  });

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

  it("does not bring a person back whose phone was offline during the deletion", async () => {
    const kept = { type: "track", anonymousId: "e-1", timestamp: iso(AT - DAY), sentAt: iso(AT - DAY + 1_000) };
    await send("track", { anonymousId: "e-1" });
    now += 60_000;
    await deleteEntity(service, "user/_uid/e-1");
    now += 60_000;
    await send("batch", { batch: [kept] });
    await send("batch", { batch: [{ ...kept, sentAt: undefined }], sentAt: kept.sentAt });
    await send("batch", { batch: [{ ...kept, originalTimestamp: iso(AT - DAY) }], sentAt: iso(now) });
    // A clock that is a day ahead.
    await send("track", { ...kept, timestamp: iso(AT + DAY), sentAt: iso(now + DAY) });
    expect(await exported("_uid", "e-1")).to.equal(undefined);
    await send("track", { ...kept, timestamp: iso(now), sentAt: iso(now) });
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

  it("parses a body of 16 MiB call by call, also if sentAt comes last", async () => {
    const calls = Array.from({ length: 16 }, (_, index) => {
      const bytes = index === 3 ? 1_100_000 : 1_000_000;
      return {
        type: "track",
        anonymousId: `big-${index}`,
        timestamp: iso(AT + DAY),
        properties: { list: Array(bytes / 4).fill(123) },
      };
    });
    const { parse } = JSON;
    let longest = 0;
    JSON.parse = (text, ...rest) => {
      longest = Math.max(longest, text.length);
      return parse(text, ...rest);
    };
    try {
      await send("batch", { batch: calls, sentAt: iso(AT + DAY) });
    } finally {
      JSON.parse = parse;
    }
    expect(longest).to.be.within(1_000_000, 1_048_576);
    for (const index of calls.keys()) {
      const messages = (await exported("_uid", `big-${index}`))?.messages.map(({ event_time }) => event_time);
      expect(messages, String(index)).to.deep.equal(index === 3 ? undefined : [iso(AT)]);
    }
  });

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
