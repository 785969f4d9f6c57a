import { expect } from "chai";
import { Turns } from "../../src/entities/turns.js";

describe("turns", () => {
  /** Work that ends when it is told to. */
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

  it("are taken in order by work that shares a name, at once by the rest", async () => {
    const turns = new Turns();
    const log: string[] = [];
    const [a, b, c] = [work(log, "a"), work(log, "b"), work(log, "c")];
    const all = [turns.take(["x", "y"], a.run), turns.take(["y", "z"], b.run), turns.take(["w"], c.run)];
    const last = turns.take(["x", "z"], async () => {
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

  it("go on after work that failed", async () => {
    const turns = new Turns();
    const failed = turns.take(["x"], () => Promise.reject(new Error("no")));
    const next = turns.take(["x"], async () => "done");
    expect(await failed.catch((error: Error) => error.message)).to.equal("no");
    expect(await next).to.equal("done");
  });
});
