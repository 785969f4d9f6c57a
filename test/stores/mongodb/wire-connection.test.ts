import { expect } from "chai";
import { MongoNetworkError } from "mongodb";
import { openLog } from "../../../src/log.js";
import { type Connection, connect } from "../../../src/stores/mongodb/connection.js";
import { mongoServiceError } from "../../../src/stores/mongodb/errors.js";
import { type FaultProxy, openFaultProxy } from "../../support/fault-proxy.js";
import { mongodbUrl, onServers, ownName } from "../../support/servers.js";
import { until } from "../../support/until.js";

const DEADLINE_MS = 8_000;

/** More than the buffers of a connection hold, so that the write of it waits. */
const LARGE = "x".repeat(15_000_000);

onServers(["mongodb"], "a call to MongoDB", function () {
  this.timeout(60_000);
  const name = ownName();
  let proxy: FaultProxy;
  let connection: Connection;

  before(async () => {
    proxy = await openFaultProxy(mongodbUrl(name));
    const url = proxy.url(mongodbUrl(name));
    connection = await connect({ url, deadlineMs: DEADLINE_MS, log: openLog("silent") }, async () => {});
    await things().insertOne({ _id: "first" });
  });
  after(async () => {
    await connection.data.dropDatabase();
    await connection.close();
    await proxy.close();
  });

  const things = () => connection.data.collection<{ _id: string; text?: string }>("things");

  for (const [how, cut] of [
    ["reset", () => proxy.reset()],
    ["ended", () => proxy.end()],
    ["silent until its time limit", () => {}],
  ] as const) {
    it(`that writes is sent again on another connection if its own is ${how}`, async () => {
      const met = proxy.when(how, "stall");
      const written = things().insertOne({ _id: how, text: LARGE });
      await met;
      cut();
      await written;
      expect(await things().countDocuments({ _id: how })).to.equal(1);
    });
  }

  it("that reads is rejected within its deadline if the response is too slow, and the next one succeeds", async () => {
    const read = () => things().findOne({ _id: "first" });
    expect(await read()).to.not.equal(null);
    const began = performance.now();
    await proxy.set({ slow: 1 });
    const failed = await read().then(
      () => undefined,
      (error: unknown) => mongoServiceError(error)?.kind,
    );
    expect({ failed, isInTime: performance.now() - began < 2 * DEADLINE_MS }).to.deep.equal({
      failed: "unavailable",
      isInTime: true,
    });
    await proxy.set("pass");
    await until("a read succeeds", () => read().then(Boolean, () => false));
  });

  it("that the driver does not repeat is rejected with a network error if its connection is reset", async () => {
    const met = proxy.when("distinct text", "stall");
    const update = { $set: { text: `distinct text${LARGE}` } };
    const failed = things()
      .updateMany({ _id: "first" }, update)
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    await met;
    proxy.reset();
    expect(await failed).to.be.instanceOf(MongoNetworkError);
  });
});
