import { expect } from "chai";
import type { Log } from "../../src/log.js";
import { erasureStage } from "../support/erasure-stage.js";
import { until } from "../support/until.js";

describe("a deletion that is run because of a hint", () => {
  it("has its error logged, with the request id, when the run cannot even be noted as failed", async () => {
    const warned: { err?: unknown; request?: string }[] = [];
    const note = (fields: object) => void warned.push(fields);
    const stage = await erasureStage({
      log: { debug: () => {}, info: () => {}, warn: note, error: note } as unknown as Log,
      wrap: ({ ledger }) => ({
        ledger: {
          ...ledger,
          // The sweeper finds nothing, so that the hint alone runs the request.
          open: async () => [],
          claim: async () => {
            throw new Error("The ledger is read-only");
          },
        },
      }),
    });
    try {
      const requestId = await stage.erasure.request("user", { field: "user_id", value: "ann" });
      stage.erasure.start();
      stage.stores.wakeUp.hint(requestId);
      await until("the error is logged", () => warned.length > 0);
      expect(warned[0]?.request).to.equal(requestId);
      expect(String(warned[0]?.err)).to.include("The ledger is read-only");
    } finally {
      await stage.close();
    }
  });
});
