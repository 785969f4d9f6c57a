import { expect } from "chai";
import { collectThrough } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

interface Line {
  readonly identities: Readonly<Record<string, readonly string[]>>;
  readonly attributes?: object;
  readonly since: string;
}

interface End {
  readonly type: "end";
  readonly members: number;
  readonly next: string | null;
}

describe("the members of a segment", () => {
  const now = Date.UTC(2026, 0, 5, 10);
  const hourAgo = new Date(now - 3_600_000).toISOString();
  const service = serviceOfSuite({ roles: ["api"] }, { clock: () => now });

  let serial = 0;
  beforeEach(() => {
    serial += 1;
  });
  /** A name that no other test uses. */
  const own = (name: string) => `${name}.${serial}`;

  const send = (messages: object[], query = "") => collectThrough(service, messages, `web${query}`);
  const people = (from: number, to: number, more: object = {}) =>
    Array.from({ length: to - from }, (_, i) => ({ user_id: own(`u${from + i}`), segments: [own("s")], ...more }));
  const post = (segment: string, json?: unknown) =>
    service.fetch(`/api/segment/${own(segment)}/members`, { method: "POST", ...(json === undefined ? {} : { json }) });
  const list = async (json?: unknown) => {
    const answer = await post("s", json);
    expect(answer.status).to.equal(200);
    expect(answer.headers.get("content-type")).to.match(/^application\/x-ndjson/);
    expect(answer.headers.get("cache-control")).to.equal("no-store");
    const text = await answer.text();
    expect(text.endsWith("\n")).to.equal(true);
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    return { members: lines.slice(0, -1) as Line[], end: lines.at(-1) as End };
  };
  const idsOf = (members: readonly Line[]) => members.map(({ identities }) => identities.user_id?.[0]);

  it("are listed with identities, requested attributes and start of membership, and counted in the last line", async () => {
    await send([
      {
        ...{ _uid: "a", user_id: ["1", "2"], email: "Ann@x.org", plan: "gold", deep: { x: [1] } },
        segments: [own("s"), "t"],
      },
      { user_id: "b", segments: ["t"] },
      { user_id: "c", segments: { add: [own("s")] } },
      { user_id: "c", segments: { remove: [own("s")] } },
    ]);
    await send([{ account_id: "acme", at: hourAgo, segments: [own("s")] }], "?table=account&timestamp_field=at");
    const ann = { _uid: ["a"], user_id: ["1", "2"], email: ["ann@x.org"] };
    const since = new Date(now).toISOString();
    const { members, end } = await list();
    expect(members).to.have.deep.members([
      { identities: ann, since },
      { identities: { account_id: ["acme"] }, since: hourAgo },
    ]);
    expect(end).to.deep.equal({ type: "end", members: 2, next: null });
    expect((await list({})).members).to.deep.equal(members);
    expect((await list({ fields: [], after: null, limit: null })).members).to.have.deep.members([
      { identities: ann, attributes: {}, since },
      { identities: { account_id: ["acme"] }, attributes: {}, since: hourAgo },
    ]);
    const fields = ["deep", "plan", "no such attribute", "__proto__", "email"];
    expect((await list({ fields })).members).to.have.deep.members([
      { identities: ann, attributes: { plan: "gold", deep: { x: [1] }, email: "ann@x.org" }, since },
      { identities: { account_id: ["acme"] }, attributes: {}, since: hourAgo },
    ]);
    expect(await list({ limit: 1, after: "f".repeat(32) })).to.deep.equal({
      members: [],
      end: { type: "end", members: 0, next: null },
    });
  });

  it("have a stable order, in parts that together are the whole", async () => {
    await send(people(0, 300));
    await send(people(300, 450, { about: "x".repeat(20_000) }));
    const { members, end } = await list();
    expect(end).to.deep.equal({ type: "end", members: 450, next: null });
    expect(new Set(idsOf(members)).size).to.equal(450);
    expect(await list()).to.deep.equal({ members, end });
    for (const limit of [1, 149, 150, 450, 1_000]) {
      const found: Line[] = [];
      let next: string | null = null;
      for (let calls = 0; calls < (limit === 1 ? 3 : 10); calls += 1) {
        const part: { members: Line[]; end: End } = await list({ limit, ...(next === null ? {} : { after: next }) });
        expect(part.members).to.have.length(part.end.members);
        found.push(...part.members);
        next = part.end.next;
        if (next === null) break;
      }
      if (limit > 1) expect(next).to.equal(null);
      expect(idsOf(found), `${limit}`).to.deep.equal(idsOf(members).slice(0, limit === 1 ? 3 : 450));
    }
  });

  it("are an empty list for a segment without members, and 404 for an unknown or deleted segment", async () => {
    await service.fetch(`/api/segment/${own("s")}`, { method: "PUT", json: {} });
    expect(await list()).to.deep.equal({ members: [], end: { type: "end", members: 0, next: null } });
    expect((await post("unknown")).status).to.equal(404);
    await send(people(0, 2));
    await service.fetch(`/api/segment/${own("s")}`, { method: "DELETE" });
    expect((await post("s")).status).to.equal(404);
    await service.fetch(`/api/segment/${own("s")}`, { method: "PUT", json: {} });
    expect((await list()).members).to.deep.equal([]);
  });

  it("are refused for an invalid body", async () => {
    await send(people(0, 1));
    for (const [what, json] of [
      ["fields that are a text", { fields: "plan" }],
      ["fields that are numbers", { fields: [1] }],
      ["an unknown field", { field: ["plan"] }],
      ["a limit of 0", { limit: 0 }],
      ["a limit that is no whole number", { limit: 1.5 }],
      ["an after that is no cursor", { after: "u1" }],
      ["a list", []],
    ] as const) {
      expect((await post("s", json)).status, what).to.equal(400);
    }
  });

  it("include no person in a line written after the answer to the DELETE, also for a slow reader", async function () {
    this.timeout(60_000);
    for (let from = 0; from < 600; from += 100) await send(people(from, from + 100, { about: "y".repeat(20_000) }));
    const order = idsOf((await list()).members) as string[];
    const answer = await service.fetch(`/api/segment/${own("s")}/members`, {
      method: "POST",
      json: { fields: ["about"] },
      headers: { "accept-encoding": "gzip" },
    });
    expect(answer.headers.get("content-encoding")).to.equal(null);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let text = decoder.decode((await reader.read()).value, { stream: true });
    // The buffers of the connection hold less than the 12 MB of all lines: the last 50 are not written yet.
    const erased = order.slice(-50);
    for (const id of erased) {
      expect((await service.fetch(`/api/entity/user/user_id/${id}`, { method: "DELETE" })).status).to.equal(200);
    }
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    const lines = text.trimEnd().split("\n");
    const shown = new Set(lines.slice(0, -1).map((line) => (JSON.parse(line) as Line).identities.user_id?.[0]));
    expect(erased.filter((id) => shown.has(id))).to.deep.equal([]);
    expect(JSON.parse(lines.at(-1) as string)).to.deep.equal({ type: "end", members: 550, next: null });
    expect((await list()).end.members).to.equal(550);
  });
});
