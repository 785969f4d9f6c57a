import { expect } from "chai";
import { ownTargets } from "../contracts/downstream-target.contract.js";
import { canary } from "../support/bad-input.js";
import { collectThrough } from "../support/requests.js";
import { serviceOfEachTest, serviceOfSuite } from "../support/service.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 5, 10);
const at = (minute: number) => new Date(START + minute * MINUTE).toISOString();

describe("the data of an entity", () => {
  let now = START;
  const service = serviceOfEachTest({}, { clock: () => now });
  beforeEach(async () => {
    await send("web", { email: " Ann@Example.org", plan: "gold", nested: { a: [1, null] }, segments: ["news"] });
    await send("app", { email: "ann@example.org", user_id: 7, plan: null, segments: { add: ["beta"], remove: [] } });
    await send("web", { user_id: "8", city: "Rome" });
    await send("web", { email: "ben@example.org", plan: canary, segments: ["news"] });
  });
  afterEach(() => {
    now = START;
  });

  function send(stream: string, message: object) {
    now += MINUTE;
    return collectThrough(service, [message], stream);
  }
  const post = (path: string, value: string, field = "email") =>
    service.fetch(path, { method: "POST", json: { table: "user", field, value } });
  const exported = async (value: string, field = "email") => {
    const response = await post("/api/entity/export", value, field);
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.match(/^application\/x-ndjson/);
    expect(response.headers.get("cache-control")).to.equal("no-store");
    const text = await response.text();
    expect(text).to.not.include(canary);
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  };

  it("is exported line by line: the profile, each message as sent, by arrival, and a last line with counts", async () => {
    expect(await exported("ANN@example.org")).to.deep.equal(
      [
        {
          type: "profile",
          table: "user",
          identities: { email: ["ann@example.org"], user_id: ["7"] },
          attributes: {},
          segments: [
            { id: "beta", name: "beta", since: at(2) },
            { id: "news", name: "news", since: at(1) },
          ],
        },
        {
          type: "message",
          stream: "web",
          event_time: at(1),
          received_at: at(1),
          body: { email: " Ann@Example.org", plan: "gold", nested: { a: [1, null] }, segments: ["news"] },
        },
        {
          type: "message",
          stream: "app",
          event_time: at(2),
          received_at: at(2),
          body: { email: "ann@example.org", user_id: 7, plan: null, segments: { add: ["beta"], remove: [] } },
        },
        { type: "end", messages: 2 },
      ].map((line, index) =>
        index === 0 ? { ...line, attributes: { nested: { value: { a: [1, null] }, at: at(1) } } } : line,
      ),
    );
  });

  it("is exported with the messages of all profiles that were merged into one, by arrival", async () => {
    await send("web", { email: "ann@example.org", user_id: ["7", "8"] });
    const lines = await exported("8", "user_id");
    const [profile, ...rest] = lines;
    expect(profile.identities).to.deep.equal({ email: ["ann@example.org"], user_id: ["7", "8"] });
    const arrivals = rest.slice(0, -1).map(({ received_at }: { received_at: string }) => received_at);
    expect(arrivals).to.deep.equal([at(1), at(2), at(3), at(5)]);
    expect(lines.at(-1)).to.deep.equal({ type: "end", messages: 4 });
  });

  it("includes an explanation of each membership by its message, or by the fact that it has expired", async () => {
    const why = async () =>
      (await (await service.fetch("/api/entity/user/email/ann@example.org/segments")).json()) as { data: object[] };
    const by = (stream: string | null, minute: number) => ({ stream, event_time: at(minute), received_at: at(minute) });
    expect((await why()).data).to.deep.equal([
      { id: "beta", name: "beta", member: true, since: at(2), by: by("app", 2) },
      { id: "news", name: "news", member: true, since: at(1), by: by("web", 1) },
    ]);
    await service.service.stores.history.expire(START + 1.5 * MINUTE);
    const [, expired] = (await why()).data;
    expect(expired).to.deep.equal({ id: "news", name: "news", member: true, since: at(1), by: by(null, 1) });
    expect((await service.fetch("/api/entity/user/email/cy@example.org/segments")).status).to.equal(404);
  });

  it("is counted in a preview of a deletion, which changes nothing and equals the deletion", async () => {
    const preview = async () =>
      (await (await post("/api/deletion/preview", "ann@example.org")).json()) as { data: object };
    const counts = {
      profiles: 1,
      identities: { email: 1, user_id: 1 },
      messages: { app: 1, web: 1 },
      segments: 2,
      targets: ownTargets,
    };
    expect((await preview()).data).to.deep.equal(counts);
    expect((await preview()).data).to.deep.equal(counts);
    expect(await exported("ann@example.org")).to.have.length(4);
    await service.fetch("/api/entity/user/email/ann@example.org", { method: "DELETE" });
    expect((await post("/api/deletion/preview", "ann@example.org")).status).to.equal(404);
    expect((await post("/api/entity/export", "ann@example.org")).status).to.equal(404);
  });
});

interface Meta {
  readonly created_at: string;
  readonly modified_at: string;
  readonly streams: readonly string[];
}

describe("the meta of an entity", () => {
  let now = START;
  /** The start of a test, which no other test uses. */
  let start = START;
  beforeEach(() => {
    start += HOUR;
  });
  const service = serviceOfSuite({ roles: ["api"] }, { clock: () => now });
  /** An id that no other test uses. */
  const own = (id: string) => `${id}.${start}`;

  /** Sends messages to a stream so many minutes after the start. */
  const send = (minute: number, stream: string, ...messages: object[]) => {
    now = start + minute * MINUTE;
    return collectThrough(service, messages, `${stream}?timestamp_field=at`);
  };
  /** Minutes of creation and change, and the streams. */
  const meta = async (id: string) => {
    const answer = await service.fetch(`/api/entity/user/user_id/${own(id)}`);
    expect(answer.status).to.equal(200);
    const { created_at, modified_at, streams } = ((await answer.json()) as { meta: Meta }).meta;
    for (const text of [created_at, modified_at]) expect(text).to.equal(new Date(text).toISOString());
    return [created_at, modified_at].map((text) => (Date.parse(text) - start) / MINUTE).concat(streams as never[]);
  };

  it("contains the arrivals of the first message and the newest change, and the streams of all messages", async () => {
    await send(1, "web", { user_id: own("a"), plan: "free" });
    expect(await meta("a")).to.deep.equal([1, 1, "web"]);
    await send(2, "app", { user_id: own("a"), plan: "gold" });
    expect(await meta("a")).to.deep.equal([1, 2, "app", "web"]);
    await send(3, "Web", { user_id: own("a"), segments: ["s"] });
    expect(await meta("a")).to.deep.equal([1, 3, "Web", "app", "web"]);
    await send(4, "web", { user_id: own("a"), segments: { remove: ["s"] } }, { user_id: own("b") });
    expect(await meta("a")).to.deep.equal([1, 4, "Web", "app", "web"]);
    await send(5, "web", { user_id: own("a"), email: "a@x.org" });
    expect(await meta("a")).to.deep.equal([1, 5, "Web", "app", "web"]);
    await send(6, "web", { user_id: own("a"), plan: null });
    expect(await meta("a")).to.deep.equal([1, 6, "Web", "app", "web"]);
    expect(await meta("b")).to.deep.equal([4, 4, "web"]);
  });

  it("has the time of the last change, also after messages that change nothing", async () => {
    const at = new Date(start).toISOString();
    const known = { plan: "gold", list: [1, { a: null }], segments: ["s"] };
    await send(1, "web", { user_id: own("a"), at, ...known });
    for (const unchanging of [
      known,
      { plan: "free", segments: [], at: new Date(start - MINUTE).toISOString() },
      {},
      { other: null, segments: { remove: ["t"] } },
    ]) {
      await send(2, "late", { user_id: own("a"), at, ...unchanging });
      expect(await meta("a"), JSON.stringify(unchanging)).to.deep.equal([1, 1, "late", "web"]);
    }
  });

  it("has the first arrival, the newest change and all streams of merged entities", async () => {
    await send(1, "web", { user_id: own("old"), plan: "free" });
    await send(2, "app", { user_id: own("mid"), email: "m@x.org" });
    await send(3, "shop", { user_id: own("new"), plan: "gold" });
    await send(4, "join", { user_id: [own("old"), own("new")] });
    expect(await meta("old")).to.deep.equal([1, 4, "join", "shop", "web"]);
    await send(5, "app", { user_id: own("mid"), city: "Oslo" });
    await send(6, "join", { user_id: [own("new"), own("mid")] });
    for (const id of ["old", "mid", "new"]) expect(await meta(id)).to.deep.equal([1, 6, "app", "join", "shop", "web"]);
  });

  it("of a deleted entity is based only on messages after the deletion", async () => {
    await send(1, "web", { user_id: own("a"), plan: "free" });
    now = start + 2 * MINUTE;
    await service.fetch(`/api/entity/user/user_id/${own("a")}`, { method: "DELETE" });
    await send(3, "app", { user_id: own("a"), plan: "gold" });
    expect(await meta("a")).to.deep.equal([3, 3, "app"]);
  });
});
