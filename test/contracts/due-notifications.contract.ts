import { expect } from "chai";
import type { DueNotifications } from "../../src/deletions/ports.js";
import { until } from "../support/until.js";

/** Promises of every engine on due notifications, as long as none is lost. */
export function dueNotificationsContract(
  name: string,
  open: () => Promise<{ dueNotifications: DueNotifications; close(): Promise<void> }>,
): void {
  describe(`the due notifications of ${name}`, () => {
    let dueNotifications: DueNotifications;
    let close: () => Promise<void>;

    beforeEach(async () => {
      ({ dueNotifications, close } = await open());
    });
    afterEach(() => close());

    it("each start a run", async () => {
      const ran = new Set<string>();
      dueNotifications.listen(async (requestId) => void ran.add(requestId));
      for (let index = 0; index < 50; index += 1) dueNotifications.send(`request-${index}`);
      await until("all have run", () => ran.size === 50);
    });

    it("start no run once the listener is closed", async () => {
      let runs = 0;
      dueNotifications.listen(async () => {
        runs += 1;
      });
      dueNotifications.send("one");
      await until("it runs", () => runs === 1);
      await dueNotifications.close();
      dueNotifications.send("two");
      await new Promise((resolve) => setImmediate(resolve));
      expect(runs).to.equal(1);
    });
  });
}
