import { expect } from "chai";
import { matchWords, moveWords } from "../../src/dashboard/rules/preview-words.js";

const sampled = {
  of: 50_000,
  sampled: 2_000,
  matching: 50,
  estimate: 1_240,
  low: 1_100,
  high: 1_400,
  exact: false,
  computing: false,
};

describe("the text of a preview", () => {
  it("has the estimate, its share and its interval, or the exact number", () => {
    expect(matchWords(sampled).join("")).to.equal("≈ 1,240 of 50,000, 2.5 %, between 2.2 and 2.8");
    expect(matchWords({ ...sampled, of: 400, estimate: 50, exact: true }).join("")).to.equal("50 of 400, 12.5 %");
    expect(matchWords({ ...sampled, of: 0, estimate: 0, exact: true }).join("")).to.equal("0 of 0, 0 %");
  });

  it("counts who would leave and join", () => {
    const moves = { ...sampled, leaving: 97, joining: 1_200 };
    expect(moveWords(moves, 1_337)).to.equal("About 97 of today's 1,337 would leave, 1,200 would join.");
    expect(moveWords({ ...moves, exact: true }, 1_337)).to.match(/^97 of today's 1,337/);
    expect(moveWords(moves, 90), "an estimate above the size").to.match(/^About 90 of today's 90/);
  });
});
