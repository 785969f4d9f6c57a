import type { Socket } from "node:net";
import { expect } from "chai";
import { openSocket, readAnswer } from "../support/raw-request.js";
import { startService, type TestService } from "../support/service.js";

describe("limits of load", () => {
  const open: Socket[] = [];
  let service: TestService;

  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    await service.stop();
  });

  /** A request that stays under way, as its body never ends. */
  async function holdOne(): Promise<Socket> {
    const socket = await openSocket(service.port);
    open.push(socket);
    const headers = `Host: a\r\nAuthorization: ${service.key}\r\nContent-Type: application/json\r\nExpect: 100-continue`;
    socket.write(`POST /api/metric/points HTTP/1.1\r\n${headers}\r\nContent-Length: 100\r\n\r\n`);
    await new Promise((resolve) => socket.once("data", resolve));
    return socket;
  }

  it("lets a key have so many requests at once; one more is 429, and /health, /ready and /metrics answer", async () => {
    service = await startService({ limits: { requests_per_key: 3 } });
    const [first] = await Promise.all([holdOne(), holdOne(), holdOne()]);
    const response = await service.fetch("/api/segment");
    expect(response.status).to.equal(429);
    expect(Number(response.headers.get("retry-after"))).to.be.at.least(1);
    await expectOperations();

    first?.write("x".repeat(100));
    if (first !== undefined) await readAnswer(first);
    expect((await service.fetch("/api/segment")).status).to.equal(200);
  });

  it("has so many places altogether; one more is 503, and /health, /ready and /metrics answer", async () => {
    service = await startService({ limits: { requests: 2, requests_per_key: 100 } });
    await Promise.all([holdOne(), holdOne()]);
    const response = await service.fetch("/api/segment");
    expect(response.status).to.equal(503);
    expect(Number(response.headers.get("retry-after"))).to.be.at.least(1);
    await expectOperations();
  });

  async function expectOperations(): Promise<void> {
    for (const path of ["/health", "/ready", "/metrics"])
      expect((await service.fetch(path)).status, path).to.equal(200);
  }

  it("gives places back when callers go", async () => {
    service = await startService({ limits: { requests_per_key: 2 } });
    for (const socket of await Promise.all([holdOne(), holdOne()])) socket.destroy();
    const deadline = Date.now() + 5000;
    let { status } = await service.fetch("/api/segment");
    while (status !== 200 && Date.now() < deadline) ({ status } = await service.fetch("/api/segment"));
    expect(status).to.equal(200);
  });

  it("lets an address guess so many keys a minute; then it is 429, and a good key still works", async () => {
    service = await startService({ limits: { wrong_keys_per_minute: 20 } });
    const statuses: number[] = [];
    for (let i = 0; i < 30; i += 1) {
      const response = await service.fetch("/metrics", { key: `em_x_${String(i).padStart(32, "0")}` });
      if (response.status === 429) expect(Number(response.headers.get("retry-after"))).to.be.within(1, 60);
      statuses.push(response.status);
      await response.arrayBuffer();
    }
    expect(statuses).to.deep.equal([...Array(20).fill(401), ...Array(10).fill(429)]);
    expect((await service.fetch("/metrics")).status).to.equal(200);
    expect((await service.fetch("/metrics", { key: null })).status).to.equal(401);
  });

  it("counts wrong keys by the address that a trusted proxy names last", async () => {
    service = await startService({ http: { trust_proxy: true }, limits: { wrong_keys_per_minute: 1 } });
    const guess = async (from: string) => {
      const response = await service.fetch("/metrics", { key: "em_x_1", headers: { "x-forwarded-for": from } });
      await response.arrayBuffer();
      return response.status;
    };
    expect(await guess("9.9.9.9, 1.1.1.1")).to.equal(401);
    expect(await guess("1.1.1.1, 2.2.2.2")).to.equal(401);
    expect(await guess("8.8.8.8, 1.1.1.1")).to.equal(429);
  });

  const sameCaller: [string, string][] = [
    ["1.1.1.1:4000", "1.1.1.1:4001"],
    ["1.1.1.1", "::ffff:1.1.1.1"],
    ["1.1.1.1:80", "[::ffff:101:101]:80"],
    ["2001:db8::1", "[2001:DB8:0:0::0:1]:4000"],
    ["[::1]", "[::1]:4000"],
    ["9.9.9.9, unknown", "8.8.8.8, guess-1"],
    ["1.1.1.256", "[1.1.1.1]"],
    ["2.2.2.2,", "[::1]:x"],
    ["_hidden:1", "1.1.1.1:123456"],
  ];
  for (const [first, second] of sameCaller) {
    it(`counts wrong keys behind a trusted proxy by address: ${first} is the caller of ${second}`, async () => {
      service = await startService({ http: { trust_proxy: true }, limits: { wrong_keys_per_minute: 1 } });
      const statuses: number[] = [];
      for (const from of [first, second, "3.3.3.3"]) {
        const response = await service.fetch("/metrics", { key: "em_x_1", headers: { "x-forwarded-for": from } });
        await response.arrayBuffer();
        statuses.push(response.status);
      }
      expect(statuses).to.deep.equal([401, 429, 401]);
    });
  }

  it("counts wrong keys whose forwarded address is no address by that of the connection", async () => {
    service = await startService({ http: { trust_proxy: true }, limits: { wrong_keys_per_minute: 1 } });
    const statuses: number[] = [];
    for (const headers of [{}, { "x-forwarded-for": "1.1.1.1, nonsense" }, { "x-forwarded-for": "127.0.0.1:9" }]) {
      const response = await service.fetch("/metrics", { key: "em_x_1", headers });
      await response.arrayBuffer();
      statuses.push(response.status);
    }
    expect(statuses).to.deep.equal([401, 429, 429]);
  });

  it("keeps a key to its rate where one is set", async () => {
    service = await startService({ limits: { rate_per_key: 3 } });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await service.fetch("/api/key")).status);
    expect(statuses).to.deep.equal([200, 200, 200, 429]);
  });
});
