import { expect } from "chai";
import { withTimeLimit } from "../../src/async/time-limit.js";
import type { Identity } from "../../src/entities/profile/identity.js";
import type { Stores } from "../../src/stores/stores.js";
import { HeldCalls } from "../support/held-calls.js";
import { type ErasureStage, erasureStage } from "./erasure-stage.js";

const ann: Identity = { field: "email", value: "ann@example.org" };

describe("DELETEs of one identity that the store keeps waiting", () => {
  /** Requests the deletion for a caller whose deadline passes after `ms`. */
  const request = (stage: ErasureStage, ms: number) =>
    withTimeLimit(ms, [], (late) => stage.deletions.accept("user", ann, late));

  it("A DELETE that became late before it was sent to the ledger is never accepted", async () => {
    let release = () => {};
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const wrap = ({ ledger }: Stores): Partial<Stores> => ({
      ledger: {
        ...ledger,
        async accept(...args) {
          await hold;
          return ledger.accept(...args);
        },
      },
    });
    const stage = await erasureStage({ wrap });
    const asked = Array.from({ length: 3 }, () => request(stage, 200).catch((error: Error) => error.name));
    expect(await Promise.all(asked)).to.deep.equal(["TimeoutError", "TimeoutError", "TimeoutError"]);
    release();
    const id = await stage.deletions.accept("user", ann);
    expect((await stage.stores.ledger.since(0, 9)).map(({ deletion }) => deletion.requestId)).to.deep.equal([id]);
    await stage.close();
  });

  it("A DELETE whose deadline has passed is not accepted, though its profile is found later", async () => {
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
