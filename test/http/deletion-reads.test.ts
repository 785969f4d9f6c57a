import { expect } from "chai";
import { collectThrough, removeThrough, statusOf } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

const PAIRS = 2000;
const AT_ONCE = 64;

describe("P2: after the response to a DELETE,", () => {
  const service = serviceOfSuite();

  it(`no read returns the profile, by any of its identities or routes (${PAIRS} profiles)`, async function () {
    this.timeout(60_000 + PAIRS * 200);
    for (let from = 0; from < PAIRS; from += 100) {
      const people = Array.from({ length: 100 }, (_, index) => personOf(from + index));
      await collectThrough(service, people);
    }
    let next = 0;
    const before: number[] = [];
    const after: number[] = [];
    const client = async () => {
      for (let index = next++; index < PAIRS; index = next++) {
        const paths = pathsOf(index);
        const turn = index % paths.length;
        before.push(await statusOf(service, paths[turn] as string));
        const identities = [`email/p${index}@example.org`, `user_id/id-${index}`, `_uid/c-${index}`] as const;
        await removeThrough(service, identities[index % 3] as string);
        for (const path of paths) after.push(await statusOf(service, path));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    expect(before.filter((status) => status === 200)).to.have.length(PAIRS);
    expect(after).to.have.length(PAIRS * 5);
    expect(after.filter((status) => status !== 404)).to.deep.equal([]);
    await until("all are complete", async () => (await service.service.stores.ledger.count("open")) === 0, 60_000);
  });
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
