import { expect } from "chai";
import { grownOver, keptEmbedded, keptOnServers, restartedEmbedded, restartedOnServers } from "./growth.js";
import { onServers } from "./servers.js";

/** Tests that nothing grows with starts and erasures but what is promised to be kept, on both sets of engines. */
export function growthTests(starts: number, erasures: number): void {
  const title = `P30: keeps nothing of ${starts} starts and ${erasures} erasures but the ledger, and counts of messages`;

  describe("a service on the embedded engine", () => {
    it(title, async () => {
      const service = restartedEmbedded();
      try {
        expect(await grownOver(service, { starts, erasures }, keptEmbedded)).to.deep.equal([]);
      } finally {
        await service.close();
      }
    });
  });

  onServers(["mongodb", "influxdb", "bullmq"], "a service on servers", () => {
    it(title, async () => {
      const service = await restartedOnServers();
      try {
        expect(await grownOver(service, { starts, erasures }, keptOnServers)).to.deep.equal([]);
      } finally {
        await service.close();
      }
    });
  });
}
