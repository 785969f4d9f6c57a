import { expect } from "chai";
import { withTimeLimit } from "../../src/async/time-limit.js";
import type { Identity } from "../../src/entities/profile/identity.js";
import type { Stores } from "../../src/stores/stores.js";
import { HeldCalls } from "../support/held-calls.js";
import { type ErasureStage, erasureStage } from "./erasure-stage.js";

const ann: Identity = { field: "email", value: "ann@example.org" };

describe("a DELETE that waits for the store", () => {
  /** Requests the deletion for a caller whose deadline passes after `ms`. */
  const request = (stage: ErasureStage, ms: number) =>
    withTimeLimit(ms, [], (late) => stage.deletions.accept("user", ann, late));

  it("is not accepted after its deadline, also if its profile is found then", async () => {
    const finds = new HeldCalls();
    const calls: string[] = [];
    const wrap = ({ entities, ledger }: Stores): Partial<Stores> => ({
      entities: {
        ...entities,
        find: (...args) => {
          calls.push("find");
          return finds.around(() => entities.find(...args), "find");
        },
      },
      ledger: {
        ...ledger,
        accept: (...args) => {
          calls.push("accept");
          return ledger.accept(...args);
        },
      },
    });
    const stage = await erasureStage({ wrap });
    finds.hold();
    const late = await request(stage, 200).catch((error: Error) => error.name);
    expect(late).to.equal("TimeoutError");
    finds.release();
    await stage.deletions.accept("user", ann);
    expect(calls).to.deep.equal(["find", "find", "accept"]);
    await stage.close();
  });
});
