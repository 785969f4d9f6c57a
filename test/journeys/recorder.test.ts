import { expect } from "chai";
import { valuesOf } from "../support/requests.js";
import { serviceOfEachTest } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const START = Date.UTC(2024, 11, 31, 22);

describe("The recorder of a running service", () => {
  let now: number;
  beforeEach(() => {
    now = START + HOUR / 2;
  });
  const service = serviceOfEachTest({ recorder: { tick_ms: 5 } }, { clock: () => now });

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

  it("takes sizes and reach in the slot that holds now, and again in the next", async () => {
    await send("POST", "/collect/json/visits", [
      { user_id: "a", segments: ["seen"] },
      { user_id: "b", segments: ["seen", "bought"] },
    ]);
    await send("PUT", "/api/experience/banner", { audience: "seen", goal: "bought", group: "spring" });
    now += 5_000;
    await becomes([[0, 2]], "segment", "seen");
    await becomes([[0, 1]], "segsize", "bought");
    await becomes([[0, 2]], "experience", "banner", "potentialreach");
    await becomes([[0, 0.5]], "experiencegroup", "spring", "conversionrate");

    await send("POST", "/collect/json/visits", { user_id: "c", segments: ["seen"] });
    now = START + HOUR;
    await becomes(
      [
        [0, 2],
        [1, 3],
      ],
      "experience",
      "banner",
      "potentialreach",
    );
    await becomes([[0, 2]], "segment", "seen");
    now = START + 2 * HOUR;
    await becomes(
      [
        [0, 2],
        [2, 3],
      ],
      "segment",
      "seen",
    );
  });
});
