import { expect } from "chai";
import { SignInCodes } from "../../src/keys/sign-in-codes.js";

describe("the code of a sign-in link", () => {
  let now = 0;
  const codes = new SignInCodes(() => now);

  it("returns its key once, within 15 minutes, until another code is issued", () => {
    const minute = 60_000;
    const replaced = codes.issue("first");
    const code = codes.issue("second");
    now += 15 * minute - 1;
    for (const [given, key] of [
      [replaced, undefined],
      ["", undefined],
      [code, "second"],
      [code, undefined],
    ] as const)
      expect(codes.redeem(given)).to.equal(key);
    const late = codes.issue("third");
    now += 15 * minute;
    expect(codes.redeem(late)).to.equal(undefined);
  });
});
