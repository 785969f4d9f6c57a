import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import { openStores } from "../../src/stores/open-stores.js";
import type { Stores } from "../../src/stores/stores.js";
import { type ComposedSeries, openSeriesService } from "../metrics/cache-history.js";
import { largeCaches } from "../metrics/metric-reader.js";
import { receive } from "../metrics/recorder-fixture.js";
import { dataFolder } from "../support/data-folder.js";
import { dropFromServers } from "../support/drop-from-servers.js";
import { endsWithTest } from "../support/ends-with-test.js";
import { type LateRequests, openLateRequests } from "../support/late-requests.js";
import { influxdbToken, influxdbUrl, nameOf, onServers, onServersOnly } from "../support/servers.js";
import { settingsFor } from "../support/service.js";
import { until } from "../support/until.js";

const SLOT = Date.UTC(2024, 5, 1);
const DEADLINE_MS = 600;

/** Time limit of a process whose write is held until the end of the test. */
const LONG_MS = 30_000;

interface Process {
  readonly stores: Stores;
  readonly series: ComposedSeries;
}

onServers(["mongodb", "influxdb", "bullmq"], "P11: a write that InfluxDB executes late", () => {
  let dir: string;
  let proxy: LateRequests;
  let now: number;

  beforeEach(async () => {
    dir = dataFolder();
    endsWithTest(() => dropFromServers(nameOf(dir)));
    now = SLOT + 2 * HOUR;
    proxy = await openLateRequests(process.env.TEST_INFLUXDB_URL ?? "");
  });

  /** Opens the stores of the test; its profiles are in MongoDB, or in SQLite. */
  function storesOf(profiles: "MongoDB" | "SQLite", deadlineMs = DEADLINE_MS): Promise<Stores> {
    const { entities, pepper } = onServersOnly(nameOf(dir));
    const settings = settingsFor(dir, {
      ...(profiles === "MongoDB" ? { entities, pepper } : {}),
      metrics: {
        url: influxdbUrl(nameOf(dir), proxy.url(process.env.TEST_INFLUXDB_URL ?? "")),
        token: influxdbToken(),
      },
      limits: { store_deadline_ms: deadlineMs },
    });
    return openStores({ settings, log: openLog("silent"), clock: () => now });
  }

  /** Starts a process over the stores of the test. */
  async function start(...options: Parameters<typeof storesOf>): Promise<Process> {
    const stores = await storesOf(...options);
    endsWithTest(() => stores.close());
    return { stores, series: await openSeriesService(stores, largeCaches, null, () => now) };
  }

  const late = { dimension: stream, id: "late", type: "size" };
  const point = (value: number, ts = SLOT) => ({
    dimension: "stream",
    dimension_id: "late",
    dimension_type: "size",
    value,
    ts,
  });
  const post = async ({ series }: Process, mode: string, ...points: object[]) =>
    (await series.post(`/api/metric/points${mode}`, points)).status;
  const stored = async ({ stores }: Process) => {
    const window = { series: late, from: SLOT, to: SLOT + 2 * HOUR };
    return [...((await stores.series.read([window]))[0] ?? [])];
  };

  const modes = { "a value": "", "an added point": "?mode=add" };
  for (const [what, mode] of Object.entries(modes)) {
    for (const [profiles, processes] of [
      ["SQLite", 1],
      ["MongoDB", 2],
    ] as const) {
      it(`does not replace ${what} that was answered after the write was given up: profiles in ${profiles}, ${processes} processes`, async () => {
        const first = await start(profiles);
        const last = processes === 1 ? first : await start(profiles);
        for (const one of new Set([first, last])) expect(await post(one, mode, point(1))).to.equal(200);
        proxy.hold(["POST /api/v2/write"]);
        expect(await post(first, mode, point(2), point(2, SLOT + HOUR))).to.equal(503);
        proxy.hold([]);
        expect(await post(last, mode, point(3), point(3, SLOT + HOUR))).to.equal(200);
        expect(await stored(last)).to.deep.equal([3, 3]);
        expect(proxy.kept).to.be.above(0);
        await proxy.deliver();
        expect(await stored(first)).to.deep.equal([3, 3]);
      });
    }

    it(`does not replace ${what} that was answered later, if a second attempt of the write was answered`, async () => {
      const process = await start("MongoDB", 2_000);
      proxy.hold(["POST /api/v2/write"]);
      const first = post(process, mode, point(2));
      await until("the first attempt is held", () => proxy.kept > 0);
      proxy.hold([]);
      expect(await first).to.equal(200);
      expect(await post(process, mode, point(3))).to.equal(200);
      await proxy.deliver();
      expect(await stored(process)).to.deep.equal([3, Number.NaN]);
    });

    for (const profiles of ["SQLite", "MongoDB"] as const) {
      it(`of a process that was killed does not replace ${what} of a process that has started since: profiles in ${profiles}`, async () => {
        const { series, raiseOrder, close } = await storesOf(profiles);
        const order = { number: await raiseOrder("clients"), abandon: async () => {} };
        proxy.hold(["POST /api/v2/write"]);
        const killed =
          mode === ""
            ? series.write("clients", [{ series: late, from: SLOT, values: Float64Array.of(2) }], order)
            : series.add([{ series: late, points: [{ ms: SLOT, ns: 0, source: 0, value: 2 }] }], order);
        killed.catch(() => {});
        await until("the write is held", () => proxy.kept > 0);
        await close();
        proxy.hold([]);
        const started = await start(profiles);
        expect(await post(started, mode, point(3))).to.equal(200);
        await proxy.deliver();
        expect(await stored(started)).to.deep.equal([3, Number.NaN]);
      });
    }
  }

  it("counts each added point once, whether the late write has it, a repetition or both", async () => {
    const process = await start("MongoDB");
    const points = [1, 2, 4].map((value, i) => point(value, SLOT + i));
    expect(await post(process, modes["an added point"], ...points)).to.equal(200);
    proxy.hold(["POST /api/v2/write"]);
    expect(await post(process, modes["an added point"], ...points.slice(1), point(8, SLOT + 9))).to.equal(503);
    proxy.hold([]);
    expect(await post(process, modes["an added point"], ...points.slice(0, 2))).to.equal(200);
    await proxy.deliver();
    expect(await stored(process)).to.deep.equal([15, Number.NaN]);
  });

  for (const isGivenUp of [true, false]) {
    it(`does not replace a count that the recorder saved later${isGivenUp ? "" : ", after the lease of another process ended"}`, async () => {
      const first = await start("MongoDB", isGivenUp ? DEADLINE_MS : LONG_MS);
      const second = await start("MongoDB", LONG_MS);
      await receive(first.stores, "late", SLOT, 2);
      proxy.hold(["POST /api/v2/write"]);
      const tick = first.series.recorder.tick().catch((error: unknown) => error);
      await until("the count is held", () => proxy.kept > 0);
      if (isGivenUp) await tick;
      proxy.hold([]);
      await receive(first.stores, "late", SLOT);
      now += 10_000;
      const last = isGivenUp ? first : second;
      await last.series.recorder.tick();
      expect(await stored(last)).to.deep.equal([3, Number.NaN]);
      await proxy.deliver();
      await tick;
      expect(await stored(last)).to.deep.equal([3, Number.NaN]);
    });
  }

  it("is kept if no newer write was answered", async () => {
    const process = await start("MongoDB");
    proxy.hold(["POST /api/v2/write"]);
    expect(await post(process, "", point(2))).to.equal(503);
    proxy.hold([]);
    await proxy.deliver();
    expect(await stored(process)).to.deep.equal([2, Number.NaN]);
  });
});
