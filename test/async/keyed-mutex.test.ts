import { expect } from "chai";
import { KeyedMutex } from "../../src/async/keyed-mutex.js";

describe("a keyed mutex", () => {
  /** Work that ends when the test releases it. */
  function work(log: string[], name: string) {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const run = async () => {
      log.push(`${name} begins`);
      await ended;
      log.push(`${name} ends`);
    };
    return { run, end };
  }
  const soon = () => new Promise((resolve) => setImmediate(resolve));

  it("runs work with a common key one after another, in order, and other work at once", async () => {
    const mutex = new KeyedMutex();
    const log: string[] = [];
    const [a, b, c] = [work(log, "a"), work(log, "b"), work(log, "c")];
    const all = [mutex.run(["x", "y"], a.run), mutex.run(["y", "z"], b.run), mutex.run(["w"], c.run)];
    const last = mutex.run(["x", "z"], async () => {
      log.push("last");
    });
    await soon();
    expect(log).to.deep.equal(["a begins", "c begins"]);
    b.end();
    a.end();
    c.end();
    await Promise.all([...all, last]);
    expect(log.filter((line) => !line.startsWith("c"))).to.deep.equal([
      "a begins",
      "a ends",
      "b begins",
      "b ends",
      "last",
    ]);
  });

  it("continues after work that failed", async () => {
    const mutex = new KeyedMutex();
    const failed = mutex.run(["x"], () => Promise.reject(new Error("no")));
    const next = mutex.run(["x"], async () => "done");
    expect(await failed.catch((error: Error) => error.message)).to.equal("no");
    expect(await next).to.equal("done");
  });
});
