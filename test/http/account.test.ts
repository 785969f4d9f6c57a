import { expect } from "chai";
import { canary, refused } from "../support/bad-input.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { serviceOfSuite } from "../support/service.js";

describe("a request to export or preview an entity", () => {
  const service = serviceOfSuite({ roles: ["api"] });

  const post = (path: string, value: string, field = "email") =>
    service.fetch(path, { method: "POST", json: { table: "user", field, value } });

  it("returns an export of 3,000 messages completely and in constant memory", async function () {
    this.timeout(120_000);
    const headers = { "content-type": "application/x-ndjson" };
    const message = JSON.stringify({ email: "ann@example.org", filler: "x".repeat(4_000) });
    const body = Array.from({ length: 750 }, () => message).join("\n");
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
    expect(lines).to.equal(3_002);
    expect(last.endsWith('{"type":"end","messages":3000}\n')).to.equal(true);
    expect(most).to.be.below(4 * 1024 * 1024);
  });

  it("is refused if its body names no entity, and the error repeats nothing of the body", async () => {
    const wrong: [unknown, number][] = [
      [{ table: canary, field: "email", value: "a" }, 400],
      [{ table: "user", field: canary, value: "a" }, 400],
      [{ table: "user", field: "email" }, 400],
      [{ table: "user", field: "email", value: 7 }, 400],
      [{ table: "user", field: "email", value: "" }, 400],
      [{ table: "user", field: "email", value: "null" }, 400],
      [{ table: "user", field: "email", value: "\u0000" }, 400],
      [{ table: "user", field: "email", value: "x".repeat(1025) }, 400],
      [{ table: "user", field: "email", value: canary }, 400],
      [{ table: "user", field: "email", value: `${canary}@example.org` }, 404],
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
