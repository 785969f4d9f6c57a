import { expect } from "chai";
import { mintKey } from "../../src/keys/verify-key.js";
import { canary, refused } from "../support/bad-input.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { startService, type TestService } from "../support/service.js";

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 5, 10);

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
