import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { Deadline, withTimeLimit } from "../../src/async/time-limit.js";

describe("a time limit", () => {
  it("settles as the work does", async () => {
    expect(await withTimeLimit(60_000, [], async () => 1)).to.equal(1);
    expect(await reasonOf(withTimeLimit(60_000, [], async () => Promise.reject("no")))).to.equal("no");
  });

  it("rejects if the work does not end in time, and aborts it", async () => {
    let given: AbortSignal | undefined;
    const reason = await reasonOf(withTimeLimit(1, [], (signal) => never(() => (given = signal))));
    expect(reason).to.have.property("name", "TimeoutError");
    expect(given?.reason).to.equal(reason);
  });

  it("rejects with the reason of the first signal that aborts, also before the work begins", async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const limited = withTimeLimit(60_000, [one.signal, other.signal], () => never(() => {}));
    other.abort("stopped");
    expect(await reasonOf(limited)).to.equal("stopped");
    const late = withTimeLimit(60_000, [one.signal, other.signal], () => expect.fail("the work began"));
    expect(await reasonOf(late)).to.equal("stopped");
  });

  it("lets any number of calls share a signal without a warning", async () => {
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    const warned = (warning: Error) => warnings.push(warning);
    process.on("warning", warned);
    try {
      await Promise.all(Array.from({ length: 50 }, () => withTimeLimit(60_000, [signal], () => setImmediate())));
      expect(warnings).to.deep.equal([]);
    } finally {
      process.off("warning", warned);
    }
  });

  it("keeps the warning about listeners for all other emitters", async () => {
    await withTimeLimit(60_000, [], async () => {});
    await withTimeLimit(60_000, [new AbortController().signal], async () => {});
    expect(EventEmitter.defaultMaxListeners).to.equal(10);
  });

  it("accepts a response that arrived in time but was read late, as the process was busy", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    let client: Socket | undefined;
    try {
      await once(server, "listening");
      const own = connect((server.address() as AddressInfo).port, "127.0.0.1");
      client = own;
      const [accepted] = (await once(server, "connection")) as [Socket];
      const response = await withTimeLimit(1, [], () => {
        accepted.write("here");
        spend(20);
        return once(own, "data");
      });
      expect(String(response)).to.equal("here");
    } finally {
      client?.destroy();
      server.close();
    }
  });
});

describe("a deadline", () => {
  it("aborts its signal when it passes, also if the signal is first used afterwards", async () => {
    for (const isUsedBefore of [true, false]) {
      const deadline = new Deadline(1, (cause) => cause);
      const before = isUsedBefore ? deadline.signal : undefined;
      const reason = await reasonOf(deadline.limit(() => never(() => {})));
      expect(reason).to.have.property("name", "TimeoutError");
      expect((before ?? deadline.signal).reason).to.equal(reason);
    }
  });

  it("is not restarted once it has passed", async () => {
    const deadline = new Deadline(1, (cause) => cause);
    expect(deadline.restart()).to.equal(true);
    await reasonOf(deadline.limit(() => never(() => {})));
    expect(deadline.restart()).to.equal(false);
  });
});

function spend(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function never(begun: () => void): Promise<never> {
  begun();
  return new Promise(() => {});
}

async function reasonOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail("it did not reject"),
    (reason: unknown) => reason,
  );
}
