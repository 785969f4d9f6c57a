import { expect } from "chai";
import { type Chunk, chunksOf, Epochs } from "../../src/metrics/cache/epochs.js";
import { OtherProcesses } from "../../src/metrics/cache/other-processes.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import type { SharedEpochs } from "../../src/metrics/ports.js";
import { mongoSharedEpochs, processCollections } from "../../src/stores/mongodb/between-processes.js";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { HeldCalls } from "../support/held-calls.js";
import { onServers } from "../support/servers.js";
import { until } from "../support/until.js";
import { openTestDatabase, type TestDatabase } from "./mongo-database.js";

const CHUNK_SLOTS = 168;
const DEADLINE_MS = 5_000;
const windowOf = (id: string) => [{ series: { dimension: stream, id, type: "size" }, from: 0, to: HOUR }];
const chunkOf = (id: string) => windowOf(id).flatMap((window) => chunksOf(window, CHUNK_SLOTS))[0] as Chunk;
const nothing = async () => {};

onServers(["mongodb"], "epochs that processes share on MongoDB", () => {
  let database: TestDatabase;
  const closing: (() => unknown)[] = [];
  beforeEach(async () => {
    database = await openTestDatabase(processCollections);
    closing.push(database.close);
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** One of several processes. */
  async function open({ writeLifeMs = 60_000, db = database.db } = {}): Promise<Epochs> {
    const others = new OtherProcesses({
      shared: mongoSharedEpochs(db, DEADLINE_MS),
      writeLifeMs,
      deadlineMs: DEADLINE_MS,
    });
    closing.push(() => others.close());
    await until("it has read the shared numbers", () => others.isUpToDate(performance.now()));
    return new Epochs(CHUNK_SLOTS, others);
  }

  /** A write that is under way until `end`. */
  async function begin(writer: Epochs, id: string): Promise<{ end(): Promise<void> }> {
    const calls = new HeldCalls();
    const reached = calls.hold();
    const written = writer.write(windowOf(id), () => calls.around(nothing, "write"));
    await reached;
    return {
      end() {
        calls.release();
        return written;
      },
    };
  }

  it("are raised in every process within a second by a write in one of them, and in no other chunk", async () => {
    const [writer, reader] = [await open(), await open()];
    const [token, other] = [reader.token(chunkOf("a")), reader.token(chunkOf("b"))];
    expect(reader.isCurrent(token)).to.equal(true);
    await writer.write(windowOf("a"), nothing);
    const written = performance.now();
    await until("it is raised", () => {
      const asked = performance.now();
      const isRaised = !reader.isCurrent(token);
      if (!isRaised) expect(asked - written).to.be.below(1_000);
      return isRaised;
    });
    await until("the others are current", () => reader.isCurrent(other));
    await until("a new one is current", () => reader.isCurrent(reader.token(chunkOf("a"))));
  });

  it("are never current in any process while a write is under way", async () => {
    const [writer, reader] = [await open(), await open()];
    const { end } = await begin(writer, "a");
    await until("the reader knows of it", () => !reader.isCurrent(reader.token(chunkOf("a"))));
    expect(writer.isCurrent(writer.token(chunkOf("a")))).to.equal(false);
    const during = reader.token(chunkOf("a"));
    await end();
    await until("the reader knows of its end", () => reader.isCurrent(reader.token(chunkOf("a"))));
    expect(reader.isCurrent(during)).to.equal(false);
  });

  it("are current again once the life of a write is over whose process has died, and after it a write counts as before", async () => {
    const reader = await open({ writeLifeMs: 500 });
    const dead = await open();
    await begin(dead, "a");
    await until("the reader knows of it", () => !reader.isCurrent(reader.token(chunkOf("a"))));
    await until("it is over", () => reader.isCurrent(reader.token(chunkOf("a"))));
    const late = await open({ writeLifeMs: 500 });
    await until("one that has started since knows it too", () => late.isCurrent(late.token(chunkOf("a"))));
    const tokens = [reader, late].map((process) => ({ process, token: process.token(chunkOf("a")) }));
    await (await open()).write(windowOf("a"), nothing);
    for (const { process, token } of tokens) await until("it is raised", () => !process.isCurrent(token));
    await until("it is current again", () => reader.isCurrent(reader.token(chunkOf("a"))));
  });

  it("count the writes of several processes at once, and of many in one", async () => {
    const processes = await Promise.all([open(), open(), open()]);
    const reader = await open();
    const token = reader.token(chunkOf("a"));
    await Promise.all(
      processes.flatMap((writer) => Array.from({ length: 30 }, () => writer.write(windowOf("a"), nothing))),
    );
    await until("it is raised", () => !reader.isCurrent(token));
    const shared: SharedEpochs = mongoSharedEpochs(database.db, DEADLINE_MS);
    await until("all have ended", async () => {
      const { begun, ended } = (await shared.read(0)) ?? {};
      const [number] = begun?.values() ?? [];
      expect(number).to.equal(90);
      return number === [...(ended?.values() ?? [])][0];
    });
  });

  it("are current again after a write that fails, which rejects as the store did", async () => {
    const writer = await open();
    const failure = await writer
      .write(windowOf("a"), () => Promise.reject(new Error("the disk is full")))
      .catch(String);
    expect(failure).to.equal("Error: the disk is full");
    await until("it counts as ended", () => writer.isCurrent(writer.token(chunkOf("a"))));
  });

  describe("while the server is away", () => {
    let proxy: FaultProxy;
    beforeEach(async () => {
      proxy = await openFaultProxy(process.env.TEST_MONGODB_URL ?? "");
      closing.push(() => proxy.close());
    });

    for (const fault of ["refuse", "blackhole"] as const) {
      it(`are not current, and nothing is written: the line is set to ${fault}`, async () => {
        const away = await openTestDatabase([], proxy.url(process.env.TEST_MONGODB_URL));
        closing.push(() => away.client.close());
        const process_ = await open({ db: away.client.db(database.db.databaseName) });
        const token = process_.token(chunkOf("a"));
        await proxy.set(fault);
        await until("nothing is relied on any more", () => !process_.isCurrent(token));
        let isWritten = false;
        const writing = process_
          .write(windowOf("b"), async () => {
            isWritten = true;
          })
          .catch(() => "refused");
        expect(isWritten).to.equal(false);
        await proxy.set("pass");
        await writing;
        await until("what was not written meanwhile is current again", () => process_.isCurrent(token));
      });
    }
  });
});
