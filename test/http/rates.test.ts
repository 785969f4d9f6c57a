import { expect } from "chai";
import { type Overrides, startService, type TestService } from "../support/service.js";

describe("limits per minute", () => {
  let service: TestService;

  /** Starts a service that takes one wrong key a minute of each address, behind a proxy. */
  const start = async (limits: Overrides["limits"] = {}, wrongKeysPerMinute = 1) => {
    service = await startService({ http: { trust_proxy: true }, limits }, { wrongKeysPerMinute });
  };
  /** The status of a request with a wrong key that a proxy forwards for these addresses. */
  const guess = async (from?: string) => {
    const headers = from === undefined ? {} : { "x-forwarded-for": from };
    const response = await service.fetch("/metrics", { key: "em_x_1", headers });
    await response.arrayBuffer();
    return response.status;
  };

  it("refuse more wrong keys of one address with 429, while a valid key still works", async () => {
    await start({}, 20);
    const statuses: number[] = [];
    for (let i = 0; i < 30; i += 1) {
      const response = await service.fetch("/metrics", { key: `em_x_${String(i).padStart(32, "0")}` });
      const text = await response.text();
      statuses.push(response.status);
      if (response.status !== 429) continue;
      const seconds = Number(response.headers.get("retry-after"));
      expect(seconds).to.be.within(1, 60);
      expect(text).to.contain(`"Too many wrong keys from this address; try again in ${seconds} s"`);
    }
    expect(statuses).to.deep.equal([...Array(20).fill(401), ...Array(10).fill(429)]);
    expect((await service.fetch("/metrics")).status).to.equal(200);
    expect((await service.fetch("/metrics", { key: null })).status).to.equal(401);
  });

  it("count wrong keys by the address that a trusted proxy names last, whatever its port", async () => {
    await start();
    for (const [first, second] of [
      ["9.9.9.9, 1.1.1.1", "8.8.8.8, 1.1.1.1"],
      ["1.1.1.2:4000", "1.1.1.2:4001"],
      ["2001:db8::1", "[2001:db8::1]:4000"],
      ["[::1]:1", "[::1]:4000"],
    ] as const) {
      expect([first, await guess(first), await guess(second)]).to.deep.equal([first, 401, 429]);
    }
    expect(await guess("1.1.1.1, 2.2.2.2")).to.equal(401);
  });

  it("count wrong keys without a forwarded address by the address of the connection", async () => {
    await start();
    expect(await guess()).to.equal(401);
    for (const from of ["", "2.2.2.2,"]) expect(await guess(from), from).to.equal(429);
    expect(await guess("1.1.1.1")).to.equal(401);
  });

  it("refuse a key with more requests than rate_per_key with 429, but not to read /metrics", async () => {
    await start({ rate_per_key: 3 });
    const statuses: number[] = [];
    for (const path of ["/metrics", ...Array<string>(4).fill("/api/key"), "/metrics"])
      statuses.push((await service.fetch(path)).status);
    expect(statuses).to.deep.equal([200, 200, 200, 200, 429, 200]);
  });
});
