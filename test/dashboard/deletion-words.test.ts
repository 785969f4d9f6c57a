import { expect } from "chai";
import { waitingText } from "../../src/dashboard/views/deletion-words.js";

describe("the words for open deletions", () => {
  for (const [problem, target, requests, words] of [
    ["crm answered 500", "crm", 60, "60 wait for crm: answered 500"],
    ["crm is not clean", "crm", 1, "1 waits for crm: is not clean"],
    ["the ledger is unreachable", null, 1_200, "1,200 wait: the ledger is unreachable"],
    ["crmx answered 500", "crm", 2, "2 wait: crmx answered 500"],
  ] as const) {
    it(`of ${requests} with the problem “${problem}” are “${words}”`, () => {
      expect(waitingText({ problem, target, requests })).to.equal(words);
    });
  }
});
