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

    it("are received after a run has failed", async () => {
      const ran: string[] = [];
      dueNotifications.listen(async (requestId) => {
        ran.push(requestId);
        throw new Error("in vain");
      });
      dueNotifications.send("one");
      await until("the first has run", () => ran.includes("one"));
      dueNotifications.send("two");
      await until("the second has run", () => ran.includes("two"));
    });

    it("end after the run in progress, and start no other", async () => {
      let running = 0;
      let finish = () => {};
      const held = new Promise<void>((resolve) => {
        finish = resolve;
      });
      dueNotifications.listen(async () => {
        running += 1;
        await held;
        running -= 1;
      });
      dueNotifications.send("one");
      await until("it runs", () => running === 1);
      const closed = dueNotifications.close();
      dueNotifications.send("two");
      finish();
      await closed;
      expect(running).to.equal(0);
    });
  });
}
