import { expect } from "chai";
import { LEFT, RIGHT } from "../../src/dashboard/chart/gutters.js";
import { placeMarks } from "../../src/dashboard/chart/place-marks.js";
import type { ChartMark } from "../../src/dashboard/chart-mark.js";

/** A chart whose time axis has one ms for each px. */
const WIDTH = 1_000;
const TO = WIDTH - LEFT - RIGHT;
const mark = (at: number): ChartMark => ({ id: String(at), at, text: `Mark ${at}`, of: undefined });
const place = (ats: readonly number[], label = 100) =>
  placeMarks(ats.map(mark), { from: 0, to: TO, width: WIDTH }, () => label);

describe("the labels of marks", () => {
  it("begin at their lines and are whole where there is room", () => {
    const [first, second] = place([100, 400]);
    expect([first?.line, first?.left, first?.width]).to.deep.equal([LEFT + 100, LEFT + 100, 100]);
    expect([second?.left, second?.width]).to.deep.equal([LEFT + 400, 100]);
  });

  it("are shared by marks that are too near for two", () => {
    expect(place([100, 110, 130, 300]).map(({ marks }) => marks.length)).to.deep.equal([3, 1]);
  });

  it("cover their own line, never overlap, and stay in the chart, however many there are", () => {
    for (const label of [20, 100, 400])
      for (const step of [1, 30, 64, 65, 90, 200, TO - 1]) {
        const ats = Array.from({ length: Math.ceil(TO / step) }, (_, index) => index * step);
        const placed = place([...ats, TO - 1], label);
        let end = 0;
        for (const { line, left, width } of placed) {
          expect(left, `${label} ${step}`).to.be.at.least(end);
          expect(line, `${label} ${step}`).to.be.within(left, left + Math.max(width, 1));
          expect(width, `${label} ${step}`).to.be.at.least(Math.min(label, 24));
          end = left + width;
        }
        expect(end).to.be.at.most(WIDTH);
        expect(placed.flatMap(({ marks }) => marks)).to.have.length(ats.length + 1);
      }
  });
});
