import { expect } from "chai";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import { settingSources, type WriteOrder } from "../../src/metrics/ports.js";
import { WriteOrders } from "../../src/metrics/write-orders.js";
import { type PointWrites, pointWrites } from "../../src/metrics/write-points.js";

const never: WriteOrder = { number: Number.NaN, abandon: async () => {} };
const START = Date.UTC(2024, 0, 1);

describe("a write of points", () => {
  let steps: string[];
  let since: (number | undefined)[];
  let failure: Error | undefined;
  /** Raised by other processes while the next writes are announced. */
  let raised: number[];
  let orders: WriteOrders;
  let writes: PointWrites;

  beforeEach(async () => {
    steps = [];
    since = [];
    failure = undefined;
    raised = [];
    let order = 0;
    orders = new WriteOrders(async () => ++order);
    writes = pointWrites({
      store: {
        async write(source, columns, { number, since: start } = never) {
          since.push(start);
          steps.push(`write ${number} ${source} ${columns.map(({ values }) => values.join(",")).join(" ")}`);
          if (failure !== undefined) throw failure;
        },
        async add(added, { number } = never) {
          steps.push(
            `add ${number} ${added.map(({ points }) => points.map(({ value }) => value).join(",")).join(" ")}`,
          );
        },
      },
      generations: {
        async written(windows) {
          orders.learn(raised.shift() ?? 0);
          const slots = windows.map(({ from, to }) => `${(from - START) / HOUR}-${(to - START) / HOUR}`);
          steps.push(["written", ...slots].join(" "));
        },
      },
      orders: { clients: orders, recorder: new WriteOrders(async () => 100) },
    });
  });
  const column = (...values: number[]) => ({
    series: { dimension: stream, id: "orders", type: "size" },
    from: START,
    values: Float64Array.from(values),
  });

  for (const source of settingSources) {
    it(`to the source of ${source} is stored, and then announced for the slots of its columns`, async () => {
      await writes.write(source, [column(1, Number.NaN, Number.NaN, 4, 5)]);
      expect(steps).to.deep.equal([`write ${source === "clients" ? 1 : 100} ${source} 1,NaN,NaN,4,5`, "written 0-5"]);
    });
  }

  it("of added points is announced for the slots that contain them", async () => {
    const point = (ms: number, value: number) => ({ ms: START + ms, ns: 0, source: 0, value });
    await writes.add([
      { series: column().series, points: [point(HOUR, 1), point(2 * HOUR + 1, 2), point(HOUR - 1, 3)] },
    ]);
    expect(steps).to.deep.equal(["add 1 1,2,3", "written 0-3"]);
  });

  it("that fails is announced too, and rejected with the error of the store", async () => {
    failure = new Error("the disk is on fire");
    expect(await writes.write("clients", [column(1)]).catch((error: unknown) => error)).to.equal(failure);
    expect(steps.at(-1)).to.equal("written 0-1");
  });

  it("of clients is repeated once, and not again, if its order is not the newest one when it is announced", async () => {
    raised = [4, 8, 9, 10];
    await writes.write("clients", [column(1)]);
    expect(steps).to.deep.equal(["write 1 clients 1", "written 0-1", "write 4 clients 1", "written 0-1"]);
    steps = [];
    await writes.add([{ series: column().series, points: [{ ms: START, ns: 0, source: 0, value: 2 }] }]);
    expect(steps).to.deep.equal(["add 8 2", "written 0-1", "add 9 2", "written 0-1"]);
  });

  it("of clients has one time limit, also if it is repeated", async () => {
    raised = [4, 4];
    const start = performance.now();
    await writes.write("clients", [column(1)]);
    expect(since[0]).to.be.within(start, performance.now());
    expect(since).to.deep.equal([since[0], since[0]]);
  });

  it("of a recorder has an order of its own, and is not repeated", async () => {
    raised = [400];
    for (const value of [1, 2]) await writes.write("recorder", [column(value)]);
    const stored = steps.filter((step) => step !== "written 0-1");
    expect(stored).to.deep.equal(["write 100 recorder 1", "write 100 recorder 2"]);
  });
});

describe("the orders of writes", () => {
  let raised: number;
  let isAway: boolean;
  let orders: WriteOrders;
  beforeEach(() => {
    raised = 10;
    isAway = false;
    orders = new WriteOrders(async () => {
      if (isAway) throw new Error("away");
      raised += 1;
      return raised;
    });
  });
  const next = async () => (await orders.begin()).number;

  it("are raised by the first write of a process, and not by every write", async () => {
    for (const _ of [1, 2, 3]) expect(await next()).to.equal(11);
  });

  it("are raised when a write is abandoned, once for several writes of one order, and not if that was raised already", async () => {
    const [a, b] = [await orders.begin(), await orders.begin()];
    for (const write of [a, b, a]) {
      await write.abandon();
      expect(await next()).to.equal(12);
    }
    const c = await orders.begin();
    orders.learn(50);
    await c.abandon();
    expect(await next()).to.equal(50);
  });

  it("are raised once by concurrent writes", async () => {
    expect(await Promise.all([1, 2, 3].map(next))).to.deep.equal([11, 11, 11]);
    const abandoned = await Promise.all([1, 2, 3].map(() => orders.begin()));
    await Promise.all(abandoned.map((write) => write.abandon()));
    expect(await Promise.all([1, 2, 3].map(next))).to.deep.equal([12, 12, 12]);
  });

  it("are used by no further write of the process while raising them fails", async () => {
    const write = await orders.begin();
    isAway = true;
    for (const call of [() => write.abandon(), next, next])
      expect(await call().catch((error: Error) => error.message)).to.equal("away");
    isAway = false;
    expect(await next()).to.equal(12);
  });
});
