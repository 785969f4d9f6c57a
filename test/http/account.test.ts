import { expect } from "chai";
import { mintKey } from "../../src/keys/verify-key.js";
import { ownTargets } from "../contracts/downstream-target.contract.js";
import { canary, refused } from "../support/bad-input.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { startService, type TestService } from "../support/service.js";

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 5, 10);
const at = (minute: number) => new Date(START + minute * MINUTE).toISOString();

describe("what is kept about an entity", () => {
  let service: TestService;
  let now: number;

  beforeEach(async () => {
    now = START;
    service = await startService({}, { clock: () => now });
    await send("web", { email: " Ann@Example.org", plan: "gold", nested: { a: [1, null] }, segments: ["news"] });
    await send("app", { email: "ann@example.org", user_id: 7, plan: null, segments: { add: ["beta"], remove: [] } });
    await send("web", { user_id: "8", city: "Rome" });
    await send("web", { email: "ben@example.org", plan: canary, segments: ["news"] });
  });
  afterEach(() => service.stop());

  async function send(stream: string, message: object) {
    now += MINUTE;
    expect((await service.fetch(`/collect/json/${stream}`, { method: "POST", json: message })).status).to.equal(200);
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

  it("is exported line by line: the profile, each message as it was sent by arrival, and a last line that counts them", async () => {
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
    await send("web", { email: "ann@example.org", user_id: "8" });
    const lines = await exported("8", "user_id");
    const [profile, ...rest] = lines;
    expect(profile.identities).to.deep.equal({ email: ["ann@example.org"], user_id: ["7", "8"] });
    const arrivals = rest.slice(0, -1).map(({ received_at }: { received_at: string }) => received_at);
    expect(arrivals).to.deep.equal([at(1), at(2), at(3), at(5)]);
    expect(lines.at(-1)).to.deep.equal({ type: "end", messages: 4 });
  });

  it("is exported in constant memory, whole", async function () {
    this.timeout(120_000);
    const headers = { "content-type": "application/x-ndjson" };
    const message = JSON.stringify({ email: "ann@example.org", filler: "x".repeat(400) });
    const body = Array.from({ length: 10_000 }, () => message).join("\n");
    for (let times = 0; times < 4; times += 1) {
      expect((await service.fetch("/collect/json/web", { method: "POST", headers, body })).status).to.equal(200);
    }
    const response = await post("/api/entity/export", "ann@example.org");
    let last = "";
    let lines = 0;
    let most = 0;
    collectGarbage();
    const idle = process.memoryUsage().heapUsed;
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      last = (last + Buffer.from(piece).toString()).slice(-200);
      lines += Buffer.from(piece).toString().split("\n").length - 1;
      if (lines % 50 !== 0) continue;
      collectGarbage();
      most = Math.max(most, process.memoryUsage().heapUsed - idle);
    }
    expect(lines).to.equal(40_004);
    expect(last.endsWith('{"type":"end","messages":40002}\n')).to.equal(true);
    expect(most).to.be.below(64 * 1024 * 1024);
  });

  it("says why: of each segment the message that made it, or that it is not kept any more", async () => {
    const why = async () =>
      (await (await service.fetch("/api/entity/user/email/ann@example.org/segments")).json()) as { data: object[] };
    const by = (stream: string | null, minute: number) => ({ stream, event_time: at(minute), received_at: at(minute) });
    expect((await why()).data).to.deep.equal([
      { id: "beta", name: "beta", since: at(2), by: by("app", 2) },
      { id: "news", name: "news", since: at(1), by: by("web", 1) },
    ]);
    await service.service.stores.history.expire(START + 1.5 * MINUTE);
    expect((await why()).data[1]).to.deep.equal({ id: "news", name: "news", since: at(1), by: by(null, 1) });
    expect((await service.fetch("/api/entity/user/email/cy@example.org/segments")).status).to.equal(404);
  });

  it("is counted for a preview of an erasure, which changes nothing, and is exactly what is erased", async () => {
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

  it("is previewed with both scopes alone", async () => {
    for (const [scopes, status] of [
      [["entity:delete"], 403],
      [["entity:read"], 403],
      [["entity:delete", "entity:read"], 200],
    ] as const) {
      const { key, kept } = mintKey("officer", scopes, now);
      await service.service.stores.keys.add(kept);
      const json = { table: "user", field: "email", value: "ann@example.org" };
      expect((await service.fetch("/api/deletion/preview", { method: "POST", json, key })).status).to.equal(status);
    }
  });

  it("is refused for bodies that name no entity, without repeating what was sent", async () => {
    const wrong: [unknown, number][] = [
      [{ table: canary, field: "email", value: "a" }, 400],
      [{ table: "user", field: canary, value: "a" }, 400],
      [{ table: "user", field: "email" }, 400],
      [{ table: "user", field: "email", value: 7 }, 400],
      [{ table: "user", field: "email", value: "" }, 400],
      [{ table: "user", field: "email", value: "null" }, 400],
      [{ table: "user", field: "email", value: "\u0000" }, 400],
      [{ table: "user", field: "email", value: "x".repeat(1025) }, 400],
      [{ table: "user", field: "email", value: canary }, 404],
      [{ table: "user", field: "email", value: "a", [canary]: 1 }, 400],
      [[], 400],
      [null, 400],
    ];
    for (const path of ["/api/entity/export", "/api/deletion/preview"]) {
      for (const [json, status] of wrong) await refused(service, path, { method: "POST", json }, status);
      await refused(service, path, { method: "POST", body: "{}", headers: { "content-type": "text/plain" } }, 400, 415);
      await refused(service, `${path}?value=${canary}`, { method: "POST", json: {} }, 400);
    }
  });
});
