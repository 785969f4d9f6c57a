import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { stream } from "../../src/metrics/dimensions.js";
import { until } from "../support/until.js";
import { type InfluxAnswers, influxAnswers } from "./influx-answers.js";

const from = Date.UTC(2024, 1, 28);

describe("P11: points of concurrent writers that are sent to InfluxDB together", () => {
  let server: InfluxAnswers;
  const start = async (deadlineMs = 60_000) => {
    server = await influxAnswers(deadlineMs);
  };

  const write = (id: string, slots = 1) =>
    server.engine.series.write("clients", [
      { series: { dimension: stream, id, type: "size" }, from, values: new Float64Array(slots).fill(1) },
    ]);
  const named = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `id-${from + i}`);
  const idsIn = (body: string) => [...body.matchAll(/dimension_id=([^,]+)/g)].map(([, id]) => id);
  /** Writes these ids at once; resolves with the ids that were kept, and the kinds of the errors of the others. */
  const outcomesOf = async (ids: readonly string[], slots?: number) => {
    const settled = await Promise.allSettled(ids.map((id) => write(id, slots)));
    return Object.fromEntries(
      settled.map((one, i) => [
        ids[i],
        one.status === "fulfilled" ? "kept" : one.reason instanceof ServiceError && one.reason.kind,
      ]),
    );
  };
  const all = (ids: readonly string[], outcome: string) => Object.fromEntries(ids.map((id) => [id, outcome]));

  it("are sent in one request, in their order, if they arrive during two other requests", async () => {
    await start();
    const ids = named(0, 20);
    expect(await outcomesOf(ids)).to.deep.equal(all(ids, "kept"));
    expect(server.bodies.map(idsIn)).to.have.deep.members([["id-0"], ["id-1"], ids.slice(2)]);
  });

  it("have at most a few megabytes in one request", async () => {
    await start();
    const ids = named(0, 6);
    const slots = 25_000;
    expect(await outcomesOf(ids, slots)).to.deep.equal(all(ids, "kept"));
    expect(server.bodies.map((body) => [...new Set(idsIn(body))])).to.have.deep.members([
      ["id-0"],
      ["id-1"],
      ["id-2", "id-3"],
      ["id-4", "id-5"],
    ]);
    for (const body of server.bodies) expect(body.length).to.be.below(4_000_000);
  });

  for (const status of [201, 400, 422]) {
    it(`fail only for the writer whose lines InfluxDB refuses with ${status}`, async () => {
      await start();
      server.answer((body) => (body.includes("id-7") ? status : 204));
      const ids = named(0, 12);
      const outcomes = await outcomesOf(ids);
      const refused = status === 201 ? "unavailable" : "internal";
      expect(outcomes).to.deep.equal({ ...all(ids, "kept"), "id-7": refused });
      const alone = server.bodies.filter((body) => idsIn(body).length === 1).flatMap(idsIn);
      expect(alone).to.include.members(ids);
    });
  }

  it("are not acknowledged when InfluxDB fails, after three tries for all writers together", async () => {
    await start();
    server.answer(503);
    const ids = named(0, 12);
    expect(await outcomesOf(ids)).to.deep.equal(all(ids, "unavailable"));
    expect(server.bodies).to.have.length(9);
    server.answer(204);
    expect(await outcomesOf(ids)).to.deep.equal(all(ids, "kept"));
  });

  it("are acknowledged only when the request that contains them is answered", async () => {
    await start();
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const held = async () => {
      await answered;
      return 204;
    };
    server.answer(204, 204, held);
    const [first, second, ...others] = named(0, 6).map((id) => write(id));
    let acknowledged = 0;
    for (const one of others) {
      one.then(() => {
        acknowledged += 1;
      });
    }
    await Promise.all([first, second]);
    await until("the third request has come", () => server.bodies.length === 3);
    expect(acknowledged).to.equal(0);
    answer();
    await Promise.all(others);
    expect(acknowledged).to.equal(4);
  });

  it("are refused with 503 if they wait too long, and are never sent after that", async () => {
    await start(1_000);
    server.answer("never");
    const ids = named(0, 4);
    expect(await outcomesOf(ids)).to.deep.equal(all(ids, "unavailable"));
    expect(new Set(server.bodies.flatMap(idsIn))).to.deep.equal(new Set(["id-0", "id-1"]));
    server.answer(204);
    await write("later");
    expect(server.bodies.flatMap(idsIn)).to.deep.equal(["later"]);
  });
});
