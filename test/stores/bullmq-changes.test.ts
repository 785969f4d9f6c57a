import { expect } from "chai";
import { Redis } from "ioredis";
import type { ChangePhase } from "../../src/metrics/changes.js";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { segment } from "../../src/metrics/dimensions/segment.js";
import { stream } from "../../src/metrics/dimensions/stream.js";
import type { SeriesWindow } from "../../src/metrics/series-store.js";
import type { SharedEra } from "../../src/metrics/shared-era.js";
import type { JobEngine } from "../../src/stores/stores.js";
import { changesContract } from "../contracts/changes.contract.js";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { openLoneJobs, openSharedJobs, openTestEra, type RedisJobsOptions } from "../support/redis-jobs.js";
import { type RedisServer, startRedis } from "../support/redis-server.js";
import { onServers, ownName } from "../support/servers.js";
import { until } from "../support/until.js";

const windowOf = (id: string, from = 0): SeriesWindow => ({
  series: { dimension: stream, id, type: "size" },
  from,
  to: from + HOUR,
});

/** What a process hears, and which of the series it has heard of are being written. */
function ears({ changes }: JobEngine) {
  const heard: string[] = [];
  const writing = new Map<string, number>();
  changes.listen((phase: ChangePhase, windows) => {
    for (const { series, from } of windows) {
      heard.push(`${phase} ${series.dimension.name} ${series.id} ${series.type} ${from / HOUR}`);
      writing.set(series.id, (writing.get(series.id) ?? 0) + (phase === "begin" ? 1 : -1));
    }
  });
  return { heard, writing: () => [...writing].filter(([, count]) => count !== 0) };
}

/** The era once there is one, larger than `after`. */
async function eraOf({ changes }: JobEngine, after = 0): Promise<number> {
  await until(`an era after ${after}`, () => (changes.era() ?? 0) > after, 6_000);
  return changes.era() as number;
}

onServers(["bullmq", "mongodb"], "news of writes through a server", () => {
  let sharedEra: SharedEra;
  let closeEra: () => Promise<void>;
  const open: { close(): Promise<void> }[] = [];
  const prefix = ownName();

  before(async () => {
    ({ sharedEra, close: closeEra } = await openTestEra());
  });
  after(() => closeEra());
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });

  async function process(options: RedisJobsOptions = {}): Promise<JobEngine> {
    const engine = await openSharedJobs(sharedEra, { prefix, ...options });
    open.push(engine);
    return engine;
  }

  changesContract("bullmq, one of several processes", () => openSharedJobs(sharedEra));
  changesContract("bullmq, a process alone", () => openLoneJobs());

  it("tell the other processes of a write, and not the writer twice", async () => {
    const [writer, reader] = [await process(), await process()];
    const [own, others] = [ears(writer), ears(reader)];
    const era = reader.changes.era();
    const windows = [
      windowOf("a"),
      windowOf("a", 5 * HOUR),
      { ...windowOf("b", HOUR), series: { dimension: segment, id: "b", type: "size" } },
    ];
    await writer.changes.announce("begin", windows);
    await writer.changes.announce("end", windows);
    const lines = (phase: string) =>
      ["stream a size 0", "stream a size 5", "segment b size 1"].map((line) => `${phase} ${line}`);
    const expected = [...lines("begin"), ...lines("end")];
    await until("all is heard", () => others.heard.length >= expected.length);
    expect(others.heard).to.deep.equal(expected);
    expect(own.heard).to.deep.equal(expected);
    expect(reader.changes.era()).to.equal(era);
  });

  it("drop everything in the others when a write names too many series to tell", async () => {
    const [writer, reader] = [await process(), await process()];
    const others = ears(reader);
    const [ownEra, era] = [await eraOf(writer), await eraOf(reader)];
    const windows = Array.from({ length: 50_000 }, (_, n) => windowOf(`series-${n}`));
    await writer.changes.announce("begin", windows);
    const later = await eraOf(reader, era);
    await writer.changes.announce("end", windows);
    await eraOf(reader, later);
    expect(writer.changes.era()).to.equal(ownEra);
    expect(others.heard).to.deep.equal([]);
  });

  it("begin and end in balance when only the end was heard", async () => {
    const writer = await process();
    await writer.changes.announce("begin", [windowOf("a")]);
    const reader = await process();
    const { heard, writing } = ears(reader);
    await writer.changes.announce("end", [windowOf("a")]);
    await until("the end is heard", () => heard.length === 2);
    expect(heard).to.deep.equal(["begin stream a size 0", "end stream a size 0"]);
    expect(writing()).to.deep.equal([]);
  });

  it("end the write of a process that died, when the store can no longer take it", async () => {
    const [writer, reader] = [await process(), await process({ storeDeadlineMs: 100 })];
    const { heard, writing } = ears(reader);
    const begun = performance.now();
    await writer.changes.announce("begin", [windowOf("a"), windowOf("b")]);
    await until("the beginning is heard", () => heard.length === 2);
    await writer.close();
    await until("the write is ended", () => writing().length === 0);
    expect(performance.now() - begun).to.be.at.least(2_000);
    expect(heard.slice(2)).to.deep.equal(["end stream a size 0", "end stream b size 0"]);
  });

  it("raise the era once more, when a write of which nothing was heard can no longer reach the store", async () => {
    const reader = await process({ storeDeadlineMs: 100 });
    const started = performance.now();
    const era = await eraOf(reader);
    await eraOf(reader, era);
    expect(performance.now() - started).to.be.at.least(1_500);
  });

  describe("when messages are missing, strange or late", () => {
    const begin = (number: number) => ["another", number, "begin", [["stream", "a", "size", 0, HOUR]]];

    for (const [what, messages] of [
      ["an announcement", [begin(1), begin(3)]],
      ["the last announcement before a heartbeat", [begin(1), ["another", 2, 12.5]]],
      ["a message that makes sense", ["nonsense"]],
      ["a dimension that this version knows", [["another", 1, "begin", [["a new dimension", "a", "size", 0, 1]]]]],
    ] as const) {
      it(`raise the era for want of ${what}`, async () => {
        const reader = await process();
        const era = await eraOf(reader);
        await say(messages);
        await eraOf(reader, era);
      });
    }

    it("are told once, and not again after later ones", async () => {
      const reader = await process();
      const { heard } = ears(reader);
      const era = await eraOf(reader);
      await say([begin(1), begin(1), ["another", 1, 1], begin(2), ["another", 1, 1], begin(2), begin(3)]);
      await until("all is heard", () => heard.length === 3);
      expect(reader.changes.era()).to.equal(era);
    });

    async function say(messages: readonly unknown[]): Promise<void> {
      const client = new Redis(globalThis.process.env.TEST_REDIS_URL as string);
      for (const message of messages) await client.publish(`${prefix}:0:changes`, JSON.stringify(message));
      client.disconnect();
    }
  });

  describe("with a server of their own", () => {
    let redis: RedisServer;
    beforeEach(async () => {
      redis = await startRedis();
      open.push(redis);
    });

    for (const [fault, away, back] of [
      ["killed and started again", () => redis.kill(), () => redis.start()],
      ["silent for a while", async () => redis.pause(), async () => redis.resume()],
    ] as const) {
      it(`are not trusted a second after the server was ${fault}, and then in a new era`, async () => {
        const reader = await process({ server: redis.url });
        const era = await eraOf(reader);
        await away();
        const started = performance.now();
        let trusted = started;
        await until("nothing is trusted", () => {
          const now = performance.now();
          if (reader.changes.era() === undefined) return true;
          trusted = now;
          return false;
        });
        expect(trusted - started).to.be.below(1_000);
        expect(
          await reader.probes[0]?.check().then(
            (word) => word,
            () => "down",
          ),
        ).to.not.equal(undefined);
        await back();
        expect(await eraOf(reader, era)).to.be.above(era);
      });
    }

    it("are not trusted after the process itself stood still, until it hears again", async () => {
      const reader = await process({ server: redis.url });
      const era = await eraOf(reader);
      const awake = performance.now() + 1_100;
      while (performance.now() < awake);
      expect(reader.changes.era()).to.equal(undefined);
      expect(await eraOf(reader, era)).to.be.above(era);
    });

    it("are not trusted before anything was heard, without a server at the start", async () => {
      await redis.kill();
      const reader = await process({ server: redis.url });
      expect(reader.changes.era()).to.equal(undefined);
      await redis.start();
      await eraOf(reader);
    });

    it("make the others drop what they hold when the writer's line is cut", async () => {
      const reader = await process({ server: redis.url });
      const { proxy, writer } = await behindProxy();
      const others = ears(reader);
      await proxy.set("refuse");
      for (const phase of ["begin", "end"] as const) {
        const era = await eraOf(reader);
        await writer.changes.announce(phase, [windowOf("a")]);
        if (phase === "end") expect(reader.changes.era() ?? era + 1).to.be.above(era);
        await eraOf(reader, era);
      }
      expect(others.heard).to.deep.equal([]);
    });

    for (const fault of ["blackhole", "dropAnswers"] as const) {
      it(`make the others drop what they hold when nobody knows whether an end was sent: ${fault}`, async () => {
        const reader = await process({ server: redis.url });
        const { proxy, writer } = await behindProxy();
        const { writing } = ears(reader);
        await writer.changes.announce("begin", [windowOf("a")]);
        const era = await eraOf(reader);
        await proxy.set(fault);
        await writer.changes.announce("end", [windowOf("a")]);
        expect(reader.changes.era() ?? era + 1).to.be.above(era);
        await proxy.set("pass");
        const own = await eraOf(writer);
        expect(own).to.be.a("number");
        expect(writing().length).to.be.at.most(1);
      });
    }

    it("are heard as before once the line is back, though announcements were lost in between", async () => {
      const reader = await process({ server: redis.url });
      const { proxy, writer } = await behindProxy();
      const { heard, writing } = ears(reader);
      await proxy.set("refuse");
      await writer.changes.announce("begin", [windowOf("lost")]);
      await proxy.set("pass");
      await eraOf(writer);
      await writer.changes.announce("end", [windowOf("lost")]);
      await writer.changes.announce("begin", [windowOf("a")]);
      await writer.changes.announce("end", [windowOf("a")]);
      await until("the last is heard", () => heard.at(-1) === "end stream a size 0");
      expect(writing()).to.deep.equal([]);
    });

    async function behindProxy(): Promise<{ proxy: FaultProxy; writer: JobEngine }> {
      const proxy = await openFaultProxy(redis.url);
      const writer = await process({ server: proxy.url() });
      open.push(proxy);
      await eraOf(writer);
      return { proxy, writer };
    }
  });

  describe("without the shared era", () => {
    it("are not trusted; a write that cannot be told of is refused, and told of later", async () => {
      const redis = await startRedis();
      open.push(redis);
      const mongo = await openFaultProxy(globalThis.process.env.TEST_MONGODB_URL as string);
      const era = await openTestEra(mongo.url());
      const writer = await openSharedJobs(era.sharedEra, { server: redis.url, storeDeadlineMs: 500 });
      const { heard, writing } = ears(writer);
      await eraOf(writer);
      await writer.changes.announce("begin", [windowOf("a")]);
      await mongo.set("blackhole");
      await redis.kill();
      for (const [phase, id] of [
        ["end", "a"],
        ["begin", "b"],
      ] as const) {
        const refused = await writer.changes.announce(phase, [windowOf(id)]).then(
          () => false,
          () => true,
        );
        expect(refused, phase).to.equal(true);
      }
      expect(writing()).to.deep.equal([]);
      expect(heard).to.have.length(4);
      expect(writer.changes.era()).to.equal(undefined);
      await mongo.set("pass");
      await until("it is told of", async () => (await era.sharedEra.read().catch(() => 0)) > 0);
      await writer.close();
      await era.close();
      await mongo.close();
    });
  });
});
