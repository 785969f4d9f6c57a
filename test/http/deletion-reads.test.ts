import { expect } from "chai";
import { amount } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const PAIRS = amount(2000, 100);
const AT_ONCE = amount(64, 8);

describe("P2: after a DELETE answered 200", () => {
  let service: TestService;

  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  it(`no read returns the profile, by any of its identities, over any route, in ${PAIRS} pairs`, async function () {
    this.timeout(60_000 + PAIRS * 200);
    for (let from = 0; from < PAIRS; from += 100) {
      const lines = Array.from({ length: 100 }, (_, index) => JSON.stringify(personOf(from + index)));
      const headers = { "content-type": "application/x-ndjson" };
      const answer = await service.fetch("/collect/json/web", { method: "POST", headers, body: lines.join("\n") });
      expect(answer.status).to.equal(200);
    }
    let next = 0;
    const before: number[] = [];
    const after: number[] = [];
    const client = async () => {
      for (let index = next++; index < PAIRS; index = next++) {
        const paths = pathsOf(index);
        const turn = index % paths.length;
        before.push(await statusOf(paths[turn] as string));
        const asked = ["user/email", "user/user_id", "user/_uid"][index % 3];
        const value = [`p${index}@example.org`, `id-${index}`, `c-${index}`][index % 3];
        const removed = await service.fetch(`/api/entity/${asked}/${value}`, { method: "DELETE" });
        expect(removed.status).to.equal(200);
        await removed.arrayBuffer();
        for (const path of paths) after.push(await statusOf(path));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    expect(before.filter((status) => status === 200)).to.have.length(PAIRS);
    expect(after).to.have.length(PAIRS * 5);
    expect(after.filter((status) => status !== 404)).to.deep.equal([]);
    await until("all are complete", async () => (await service.service.stores.ledger.countOpen()) === 0, 60_000);
  });

  async function statusOf(path: string): Promise<number> {
    const response = await service.fetch(path);
    await response.arrayBuffer();
    return response.status;
  }
});

function personOf(index: number): object {
  return {
    email: `p${index}@example.org`,
    user_id: `id-${index}`,
    _uid: `c-${index}`,
    plan: "gold",
    segments: ["buyers"],
  };
}

function pathsOf(index: number): string[] {
  return [
    `/api/entity/user/email/p${index}@example.org`,
    `/api/entity/user/user_id/id-${index}?segments=false`,
    `/api/entity/user/c-${index}`,
    `/api/me/_uid/c-${index}?meta=false`,
    `/api/entity/user/_uid/c-${index}?download=true`,
  ];
}
