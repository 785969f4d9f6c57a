import { expect } from "chai";
import fc from "fast-check";
import { valuesOf } from "../support/requests.js";
import { serviceOfEachTest } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const START = Date.UTC(2024, 11, 31, 22);

describe("the recorder of a running service", () => {
  let now: number;
  beforeEach(() => {
    now = START + HOUR / 2;
  });
  const service = serviceOfEachTest({}, { clock: () => now, recorderTickMs: 5 });

  const send = async (method: string, path: string, json: unknown) => {
    const response = await service.fetch(path, { method, json });
    expect(response.status, path).to.equal(200);
  };
  const values = async (dimension: string, dimension_id: string, dimension_type: string) => {
    const window = { interval: "1h", startdate: START, enddate: START + 48 * HOUR };
    const found = await valuesOf(service, { dimension, dimension_id, dimension_type, ...window });
    return found.map(([ts, value]) => [(ts - START) / HOUR, value]);
  };
  const becomes = (expected: number[][], dimension: string, id: string, type = "size") =>
    until(`${dimension} ${id} ${type} is ${JSON.stringify(expected)}`, async () => {
      return JSON.stringify(await values(dimension, id, type)) === JSON.stringify(expected);
    });

  it("saves the count of a stream when the hour has ended, and again after late messages", async () => {
    const messages = ["a", "b", "c"].map((user_id) => ({ user_id }));
    await send("POST", "/collect/json/visits", messages);
    expect(await values("stream", "visits", "size")).to.deep.equal([]);
    now = START + HOUR;
    await becomes([[0, 3]], "stream", "visits");

    const late = { user_id: "d", at: new Date(START + 60_000).toISOString() };
    await send("POST", "/collect/json/visits?timestamp_field=at", [late, { user_id: "e" }]);
    await becomes([[0, 4]], "stream", "visits");
    now = START + 2 * HOUR;
    await becomes(
      [
        [0, 4],
        [1, 1],
      ],
      "stream",
      "visits",
    );
  });

  it("saves how many people joined and left a segment, which together equal the change of its size", async function () {
    this.timeout(120_000);
    const at = fc.integer({ min: 0, max: 3 });
    const person = fc.integer({ min: 0, max: 3 });
    const segments = fc.subarray(["s", "t"]);
    const changes: fc.Arbitrary<Change> = fc.oneof(
      fc.record({ who: person, add: segments, at }),
      fc.record({ who: person, remove: segments, at }),
      fc.record({ who: person, all: segments, at }),
      fc.record({ who: person, and: person }),
    );
    const request = fc.oneof(
      { weight: 3, arbitrary: fc.array(changes, { minLength: 1, maxLength: 4 }) },
      { weight: 1, arbitrary: person },
    );
    const history = fc.array(fc.array(request, { minLength: 1, maxLength: 4 }), { minLength: 3, maxLength: 3 });
    let runs = 0;
    const explains = async (slots: (Change[] | number)[][]) => {
      runs += 1;
      const start = START + runs * 10 * HOUR;
      const own = (name: string | number) => `${name}-${runs}`;
      const sampled = (id: string, slot: number) =>
        until("the size is sampled", async () => slot in (await saved(own(id), "size", start)));
      now = start;
      for (const id of ["s", "t"]) await send("PUT", `/api/segment/${own(id)}`, {});
      for (const [slot, requests] of [...slots, []].entries()) {
        now = start + slot * 2 * HOUR + 5_000;
        for (const id of ["s", "t"]) await sampled(id, slot);
        for (const one of requests) {
          if (typeof one === "number") await send("DELETE", `/api/entity/user/user_id/${own(one)}`, undefined);
          else
            await send(
              "POST",
              "/collect/json/moves?timestamp_field=at",
              one.map((change) => messageOf(change, own)),
            );
        }
      }
      for (const id of ["s", "t"]) {
        const size = await saved(own(id), "size", start);
        const growth = slots.map((_, slot) => (size[slot + 1] as number) - (size[slot] as number));
        await until(`${growth} is joined less left of ${id} in ${JSON.stringify(slots)}`, async () => {
          const [joined, left] = [await saved(own(id), "joined", start), await saved(own(id), "left", start)];
          return String(slots.map((_, slot) => (joined[slot] ?? 0) - (left[slot] ?? 0))) === String(growth);
        });
      }
    };
    await fc.assert(fc.asyncProperty(history, explains), { numRuns: 8, endOnFailure: true });
  });

  /** A change of the person `who`: segments, or that `and` is the same person. `at` orders the events. */
  interface Change {
    readonly who: number;
    readonly add?: string[];
    readonly remove?: string[];
    readonly all?: string[];
    readonly and?: number;
    readonly at?: number;
  }

  function messageOf(
    { who, and = who, add = [], remove = [], all, at = 3 }: Change,
    own: (name: string | number) => string,
  ) {
    const segments = all?.map(own) ?? { add: add.map(own), remove: remove.map(own) };
    return { user_id: [own(who), own(and)], segments, at: new Date(START + at).toISOString() };
  }

  /** The saved values of a segment, by slots since `start`. */
  async function saved(dimension_id: string, dimension_type: string, start: number): Promise<Record<number, number>> {
    const window = { interval: "2h", startdate: start, enddate: start + 9 * HOUR };
    const found = await valuesOf(service, { dimension: "segment", dimension_id, dimension_type, ...window });
    return Object.fromEntries(found.map(([ts, value]) => [(ts - start) / (2 * HOUR), value]));
  }
});
