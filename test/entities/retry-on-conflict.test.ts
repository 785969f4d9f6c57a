import { expect } from "chai";
import { retryOnConflict } from "../../src/entities/requests/retry-on-conflict.js";

describe("work on profiles that other writers change concurrently", () => {
  it("is repeated until nothing has changed in between", async () => {
    const outcomes = [undefined, undefined, "done", "too often"];
    let attempts = 0;
    expect(await retryOnConflict(async () => outcomes[attempts++])).to.equal("done");
    expect(attempts).to.equal(3);
  });

  it("is rejected as busy, with a time to retry, after 30 attempts", async () => {
    let attempts = 0;
    const error = await retryOnConflict(async () => {
      attempts += 1;
      return undefined;
    }).catch((reason: unknown) => reason);
    expect(error).to.include({ kind: "busy", retryAfter: 1 });
    expect(attempts).to.equal(30);
  });

  it("begins no attempt once the deadline of its caller has passed", async () => {
    const late = new AbortController();
    let attempts = 0;
    const error = await retryOnConflict(async () => {
      attempts += 1;
      if (attempts === 2) late.abort();
      return undefined;
    }, late.signal).catch((reason: Error) => reason);
    expect([attempts, (error as Error).name]).to.deep.equal([2, "AbortError"]);
  });
});
