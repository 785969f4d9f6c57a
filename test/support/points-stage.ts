import { expect } from "chai";
import { startService, type TestService } from "./service.js";

export const HOUR = 3_600_000;
export const DAY = Date.UTC(2024, 5, 1);
/** The time of the service, Unix ms. */
export const NOW = Date.UTC(2024, 5, 15, 12, 30);

/** A service for the points of a suite, whose hooks start and stop it. Each test has a stream of its own. */
export function pointsStage() {
  const on = { service: undefined as unknown as TestService, stream: 0, names, point, saved, accepted };

  before(async () => {
    on.service = await startService({}, { clock: () => NOW });
  });
  after(() => on.service.stop());
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
    const query = `dimension=${dimension}&dimension_id=${id}&dimension_type=size&interval=1h`;
    const answer = await on.service.fetch(`/api/metric?${query}&startdate=2024-06-01&enddate=2024-06-02`);
    const { data } = (await answer.json()) as { data: [{ values: { ts: string; value: number }[] }] };
    return Object.fromEntries(data[0].values.map(({ ts, value }) => [(Number(ts) - DAY) / HOUR, value]));
  }

  async function accepted(json: unknown, count: number): Promise<void> {
    const answer = await on.service.fetch("/api/metric/points", { method: "POST", json });
    expect(await answer.json()).to.deep.equal({ status: 200, message: "success", data: { point_count: count } });
    expect(answer.status).to.equal(200);
  }

  return on;
}
