import { expect } from "chai";
import { valuesOf } from "./requests.js";
import { serviceOfSuite } from "./service.js";

export const HOUR = 3_600_000;
export const DAY = Date.UTC(2024, 5, 1);
/** The time of the service, Unix ms. */
export const NOW = Date.UTC(2024, 5, 15, 12, 30);

/** A service for the points of a suite, whose hooks start and stop it. Each test has a stream of its own. */
export function pointsStage() {
  const on = { service: serviceOfSuite({}, { clock: () => NOW }), stream: 0, names, point, saved, accepted };
  beforeEach(() => {
    on.stream += 1;
  });

  function names() {
    return { dimension: "stream", dimension_id: `s${on.stream}`, dimension_type: "size" };
  }

  function point(ts: unknown, value: number) {
    return { ...names(), ts, value };
  }

  /** Values of the hours of 1 June of the stream of this test. */
  async function saved(dimension = "stream", id = `s${on.stream}`): Promise<Record<number, number>> {
    const window = { interval: "1h", startdate: "2024-06-01", enddate: "2024-06-02" };
    const values = await valuesOf(on.service, { dimension, dimension_id: id, ...window });
    return Object.fromEntries(values.map(([ts, value]) => [(ts - DAY) / HOUR, value]));
  }

  async function accepted(json: unknown, count: number): Promise<void> {
    const answer = await on.service.fetch("/api/metric/points", { method: "POST", json });
    expect(await answer.json()).to.deep.equal({ status: 200, message: "success", data: { point_count: count } });
    expect(answer.status).to.equal(200);
  }

  return on;
}
