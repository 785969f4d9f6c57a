import { expect } from "chai";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import { settingSources } from "../../src/metrics/ports.js";
import { pointWrites } from "../../src/metrics/write-points.js";

const START = Date.UTC(2024, 0, 1);

describe("a write of points", () => {
  let steps: string[];
  let failure: Error | undefined;

  beforeEach(() => {
    steps = [];
    failure = undefined;
  });

  const { write, add } = pointWrites({
    store: {
      async write(source, columns) {
        steps.push(`write ${source} ${columns.map(({ values }) => values.join(",")).join(" ")}`);
        if (failure !== undefined) throw failure;
      },
      async add(added) {
        steps.push(`add ${added.map(({ points }) => points.map(({ value }) => value).join(",")).join(" ")}`);
      },
    },
    generations: {
      async written(windows) {
        const slots = windows.map(({ from, to }) => `${(from - START) / HOUR}-${(to - START) / HOUR}`);
        steps.push(["written", ...slots].join(" "));
      },
    },
  });
  const column = (...values: number[]) => ({
    series: { dimension: stream, id: "orders", type: "size" },
    from: START,
    values: Float64Array.from(values),
  });

  for (const source of settingSources) {
    it(`to the source of ${source} is stored, and then announced for the slots of its columns`, async () => {
      await write(source, [column(1, Number.NaN, Number.NaN, 4, 5)]);
      expect(steps).to.deep.equal([`write ${source} 1,NaN,NaN,4,5`, "written 0-5"]);
    });
  }

  it("of added points is announced for the slots that contain them", async () => {
    const point = (ms: number, value: number) => ({ ms: START + ms, ns: 0, source: 0, value });
    await add([{ series: column().series, points: [point(HOUR, 1), point(2 * HOUR + 1, 2), point(HOUR - 1, 3)] }]);
    expect(steps).to.deep.equal(["add 1,2,3", "written 0-3"]);
  });

  it("that fails is announced too, and rejected with the error of the store", async () => {
    failure = new Error("the disk is on fire");
    expect(await write("clients", [column(1)]).catch((error: unknown) => error)).to.equal(failure);
    expect(steps.at(-1)).to.equal("written 0-1");
  });
});
