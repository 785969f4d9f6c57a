import { expect } from "chai";
import { hookNote, hookState, lagText } from "../../src/dashboard/views/hook-words.js";

describe("the words of a hook", () => {
  for (const [what, status, words] of [
    ["took all changes", { waiting: 0, lag_seconds: 0, problem: null }, ["up", "–", "–"]],
    ["is about to receive changes", { waiting: 3, lag_seconds: 0.4, problem: null }, ["up", "0 s", "–"]],
    [
      "refused a request",
      { waiting: 3, lag_seconds: 300, problem: "crm answered 500" },
      ["down", "5 min", "answered 500"],
    ],
    [
      "is down without a change that waits",
      { waiting: 0, lag_seconds: 0, problem: "crm failed" },
      ["down", "–", "failed"],
    ],
  ] as const) {
    it(`are “${words.join(", ")}” when it ${what}`, () => {
      const hook = { name: "crm", ...status };
      expect([hookState(hook), lagText(hook), hookNote(hook)]).to.deep.equal(words);
    });
  }
});
