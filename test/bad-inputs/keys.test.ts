import { expect } from "chai";
import { mintKey } from "../../src/keys/verify-key.js";
import { expectAlive, head, refused, refusedRaw } from "../support/bad-input.js";
import { rawRequest } from "../support/raw-request.js";
import { startService, type TestService } from "../support/service.js";

describe("bad keys", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());
  afterEach(() => expectAlive(service));

  it("two Authorization headers are 400", async () => {
    await refusedRaw(service, head("GET", "/metrics", service, [`Authorization: ${service.key}`]), 400);
    await refusedRaw(service, head("GET", "/metrics", service, ["authorization: em_zqcanaryqz_1"]), 400);
  });

  it("the error for a key that lacks a scope names the scope, or the ones of which one is needed", async () => {
    const { key, kept } = mintKey("a test", ["metric:write"], Date.now());
    await service.service.stores.keys.add(kept);
    const errorsOf = async (method: string, path: string) => {
      const { body } = await refusedRaw(service, head(method, path, { ...service, key }), 403);
      return [body?.message, ...(body?.errors ?? [])];
    };
    const one = "The key lacks the scope metric:read";
    expect(await errorsOf("GET", "/api/metric")).to.deep.equal([one, { code: "forbidden", path: "", message: one }]);
    const [several] = await errorsOf("GET", "/api/entity/deletestatus/x");
    expect(several).to.equal("The key lacks the scopes entity:delete and entity:read, of which one is needed");
  });

  it("two Idempotency-Key headers are 400", async () => {
    const twice = ["Idempotency-Key: a", "idempotency-key: b"];
    await refusedRaw(service, head("GET", "/metrics", service, twice), 400);
  });

  it("10,000 wrong ones are 429 in the end, and a good one still works", async () => {
    const statuses = new Map<number, number>();
    const wrong = (i: number) =>
      `GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: em_zqcanaryqz${i}_${"0".repeat(32)}\r\n\r\n`;
    for (let i = 0; i < 10_000; i += 500) {
      const batch = Array.from({ length: 500 }, (_, j) => wrong(i + j)).join("");
      const text = await pipelined(service.port, batch, 500);
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d+)/g)) {
        statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + 1);
      }
      expect(text).to.not.include("zqcanaryqz");
    }
    expect(Object.fromEntries(statuses)).to.deep.equal({ 401: 20, 429: 9980 });
    expect((await service.fetch("/metrics")).status).to.equal(200);
  });

  it("a key of a megabyte is 431", async () => {
    const answer = await rawRequest(
      service.port,
      `GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: ${"a".repeat(1_000_000)}\r\n\r\n`,
    );
    expect(answer.status).to.equal(431);
  });

  it("a text that is no key is 401", async () => {
    const fresh = await startService();
    try {
      for (const key of [
        "em_\u00e4_0123456789abcdef0123456789abcdef",
        "em__",
        "em_a_",
        "__proto__",
        "Bearer",
        "Token",
      ]) {
        await refused(fresh, "/metrics", { key }, 401);
      }
    } finally {
      await fresh.stop();
    }
  });
});

async function pipelined(port: number, bytes: string, answers: number): Promise<string> {
  const { openSocket } = await import("../support/raw-request.js");
  const socket = await openSocket(port);
  let text = "";
  const done = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      text += chunk;
      if ((text.match(/HTTP\/1\.1 /g)?.length ?? 0) >= answers) setTimeout(resolve, 5);
    });
    socket.once("close", () => resolve());
  });
  socket.write(bytes);
  await done;
  socket.destroy();
  return text;
}
