import { expect } from "chai";
import type { Lease, LeaseResult } from "../../src/metrics/ports.js";

/** Promises of every engine on leases. */
export function leaseContract(name: string, open: () => Promise<{ lease: Lease; close(): Promise<void> }>): void {
  describe(`a lease of ${name}`, () => {
    const start = Date.UTC(2024, 1, 29);
    let lease: Lease;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      lease = opened.lease;
      close = () => opened.close();
    });
    afterEach(() => close());

    const cases: { what: string; steps: readonly [string, number, number, LeaseResult][] }[] = [
      {
        what: "is refused to another owner until it ends",
        steps: [
          ["a", 0, 5, "taken"],
          ["b", 4, 9, "refused"],
          ["b", 5, 9, "taken"],
        ],
      },
      {
        what: "can be renewed by its owner",
        steps: [
          ["a", 0, 5, "taken"],
          ["a", 3, 8, "renewed"],
          ["b", 7, 9, "refused"],
        ],
      },
      {
        what: "can be ended by its owner",
        steps: [
          ["a", 0, 5, "taken"],
          ["a", 2, 2, "renewed"],
          ["b", 2, 9, "taken"],
        ],
      },
      {
        what: "is renewed also after its end, unless another owner has held it since",
        steps: [
          ["a", 0, 5, "taken"],
          ["a", 8, 13, "renewed"],
          ["b", 13, 15, "taken"],
          ["a", 15, 20, "taken"],
        ],
      },
      {
        what: "has ended when the clock was set back before its start",
        steps: [
          ["a", 100, 105, "taken"],
          ["b", 10, 15, "taken"],
        ],
      },
    ];
    for (const { what, steps } of cases) {
      it(what, async () => {
        for (const [owner, now, until, result] of steps) {
          expect(await lease("recorder", owner, start + now, start + until)).to.equal(result);
        }
        expect(await lease("another", "c", start, start + 1)).to.equal("taken");
      });
    }

    it("is granted to one of three owners that request it at the same time", async () => {
      for (let round = 0; round < 10; round += 1) {
        const now = start + round * 10;
        const results = await Promise.all(["a", "b", "c"].map((owner) => lease("recorder", owner, now, now + 10)));
        expect(results.filter((result) => result !== "refused")).to.have.length(1);
      }
    });
  });
}
