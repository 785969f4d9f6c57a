import { expect } from "chai";
import { ServiceError } from "../../../src/errors.js";
import type { Log } from "../../../src/log.js";
import { HOUR, stream } from "../../../src/metrics/dimensions.js";
import type { MetricEngine } from "../../../src/stores/stores.js";
import { influxdbUrl, onServers, ownName } from "../../support/servers.js";
import {
  ask,
  describeBucket,
  type InfluxOptions,
  type InfluxSeries,
  influxSeries,
  makeBucket,
  makeToken,
  organizationId,
  shortenRetention,
} from "./bucket.js";

onServers(["influxdb"], "the bucket of the series", () => {
  const series = { dimension: stream, id: "a", type: "size" };
  const thisHour = () => Math.floor(Date.now() / HOUR) * HOUR;
  const open: InfluxSeries[] = [];
  const openSeries = async (options: InfluxOptions = {}) => {
    const engine = await influxSeries(options);
    open.push(engine);
    return engine;
  };
  afterEach(async () => {
    for (const engine of open.splice(0)) await engine.close();
  });

  const write = ({ series: store }: MetricEngine, hoursAgo: number, values: readonly number[]) =>
    store.write("clients", [{ series, from: thisHour() - hoursAgo * HOUR, values: Float64Array.from(values) }]);
  const read = async ({ series: store }: MetricEngine, hoursAgo: number, hours: number) => {
    const from = thisHour() - hoursAgo * HOUR;
    return [...((await store.read([{ series, from, to: from + hours * HOUR }]))[0] ?? [])];
  };
  const isRefused = async (writing: Promise<void>) => {
    const failure = await writing.catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(ServiceError).and.include({ kind: "invalid" });
    expect((failure as ServiceError).issues[0]?.code).to.equal("before_retention");
  };
  const noteOf = (engine: MetricEngine) => engine.probes[0]?.check();

  for (const [retention, seconds] of [
    [null, 0],
    ["30h", 108_000],
  ] as const) {
    it(`is created with the retention ${retention ?? "of an unlimited time"}`, async () => {
      const engine = await openSeries({ settings: { metrics: { retention } } });
      const made = await describeBucket(engine.bucket);
      expect(made?.retentionRules.reduce((_, { everySeconds }) => everySeconds, 0)).to.equal(seconds);
      expect(engine.retentionMs?.()).to.equal(seconds === 0 ? undefined : 1_000 * seconds);
      expect(await noteOf(engine)).to.equal(undefined);
    });
  }

  it("is not changed if it exists, and its retention applies", async () => {
    const bucket = ownName();
    await makeBucket(bucket, 7_200);
    const engine = await openSeries({ bucket, settings: { metrics: { retention: "30d" } } });
    expect(engine.retentionMs?.()).to.equal(7_200_000);
  });

  it("gets no point of a write with a slot before its retention", async () => {
    const bucket = ownName();
    await makeBucket(bucket, 7_200);
    const engine = await openSeries({ bucket });
    await isRefused(write(engine, 5, [1, 2, 3, 4, 5, 6]));
    await isRefused(write(engine, 50, [1, 2, 3]));
    expect(await read(engine, 5, 6)).to.deep.equal(Array(6).fill(Number.NaN));
    await write(engine, 5, [Number.NaN, Number.NaN, Number.NaN, Number.NaN, 5, 6]);
    expect(await read(engine, 1, 2)).to.deep.equal([5, 6]);
  });

  it("may get a shorter retention while the service runs", async () => {
    const engine = await openSeries({ settings: { metrics: { retention: "47h" } } });
    await shortenRetention(engine.bucket, 7_200);
    expect(engine.retentionMs?.()).to.equal(47 * HOUR);
    const values = Array.from({ length: 41 }, (_, i) => i);
    await isRefused(write(engine, 40, values));
    expect(engine.retentionMs?.()).to.equal(2 * HOUR);
    await write(engine, 1, values.slice(-2));
    expect(await read(engine, 1, 2)).to.deep.equal([39, 40]);
  });

  it("is created again after another client has removed it", async () => {
    const engine = await openSeries();
    const remove = async () => ask("DELETE", `/api/v2/buckets/${(await describeBucket(engine.bucket))?.id}`);
    await remove();
    await write(engine, 0, [1]);
    expect(await read(engine, 0, 1)).to.deep.equal([1]);
    await remove();
    expect(await read(engine, 0, 1)).to.deep.equal([Number.NaN]);
    await remove();
    expect(await noteOf(engine)).to.equal(undefined);
    expect(await describeBucket(engine.bucket)).to.include({ orgID: await organizationId() });
  });

  it("is created once by two processes that start at the same time", async () => {
    const bucket = ownName();
    const engines = await Promise.all([openSeries({ bucket }), openSeries({ bucket })]);
    for (const engine of engines) expect(await noteOf(engine)).to.equal(undefined);
    await write(engines[0] as InfluxSeries, 0, [1]);
    expect(await read(engines[1] as InfluxSeries, 0, 1)).to.deep.equal([1]);
  });

  it("is used with a token for this bucket alone", async () => {
    const bucket = ownName();
    const { id, orgID } = await makeBucket(bucket, 0);
    const token = await makeToken([
      { action: "read", resource: { type: "buckets", id, orgID } },
      { action: "write", resource: { type: "buckets", id, orgID } },
    ]);
    const engine = await openSeries({ bucket, settings: { metrics: { token } } });
    expect(await noteOf(engine)).to.equal(undefined);
    await write(engine, 0, [1]);
    expect(await read(engine, 0, 1)).to.deep.equal([1]);
  });

  describe("that cannot be used", () => {
    const cases: [string, () => Promise<InfluxOptions>, RegExp][] = [
      [
        "the token is wrong",
        async () => ({ settings: { metrics: { token: "wrong-token" } } }),
        /^the token is refused$/,
      ],
      [
        "the organization is not there",
        async () => ({ settings: { metrics: { url: influxdbUrl(ownName()).replace(/org=[^&]*/, "org=nobody") } } }),
        /^there is no such organization/,
      ],
      [
        "it is not there, and the token may not create it",
        async () => {
          const resource = { type: "orgs", id: await organizationId() };
          return { settings: { metrics: { token: await makeToken([{ action: "read", resource }]) } } };
        },
        /^there is no such bucket, and the token may not create it$/,
      ],
    ];
    for (const [why, options, word] of cases) {
      it(`because ${why}: /ready reports it, the log has one line, and requests are answered 503`, async () => {
        const lines: string[] = [];
        const note = (...args: unknown[]) => lines.push(String(args.at(-1)));
        const log = { debug: note, info: note, warn: note, error: note } as unknown as Log;
        const engine = await openSeries({ ...(await options()), log });
        expect(await noteOf(engine)).to.match(word);
        for (const work of [() => write(engine, 0, [1]), () => read(engine, 0, 1)]) {
          const failure = await work().then(
            () => undefined,
            (error: unknown) => error,
          );
          expect(failure).to.be.instanceOf(ServiceError).and.include({ kind: "unavailable", retryAfter: 5 });
        }
        expect(lines).to.have.length(1);
        expect(lines[0]).to.match(/^Series can be neither read nor written: /);
        expect(lines[0]).not.to.contain("wrong-token");
      });
    }
  });
});
