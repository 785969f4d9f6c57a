import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { groupedCalls, groupedReads, pagedReads } from "../../src/async/grouped-calls.js";

describe("grouped calls", () => {
  const deadline = (ms: number) => ({ ms, error: () => new Error("late") });
  const outcome = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: Error) => error.message,
    );

  /** Work that continues when the test ends a step. */
  function heldWork() {
    const done: string[] = [];
    const ends: (() => void)[] = [];
    const work = async (items: readonly string[]) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      done.push(items.join());
    };
    return { work, done, end: () => ends.shift()?.() };
  }

  it("run in groups of a bounded weight, in the order of arrival", async () => {
    const { work, done, end } = heldWork();
    const weightOf = (item: string) => item.length;
    const grouped = groupedCalls(work, { most: 6, weightOf, atOnce: 1 });
    const calls = ["first", "aa", "bbbb", "c", "heavier than all", "d", "e"].map((item) => grouped([item]));
    for (const call of calls) {
      end();
      await call;
    }
    expect(done).to.deep.equal(["first", "aa,bbbb", "c", "heavier than all", "d,e"]);
  });

  it("are refused at their deadline and never run if they have not begun by then", async () => {
    const { work, done, end } = heldWork();
    const grouped = groupedCalls(work, { most: 1, atOnce: 1, deadline: deadline(30) });
    const calls = ["begun", "late", "late too"].map((item) => grouped([item]));
    expect(await Promise.all(calls.slice(1).map(outcome))).to.deep.equal(["late", "late"]);
    const next = grouped(["next"]);
    end();
    await calls[0];
    end();
    await next;
    expect(done).to.deep.equal(["begun", "next"]);
  });

  it("do not fail because of one with a key that cannot be read", async () => {
    const read = async (keys: readonly string[]) => {
      if (keys.includes("bad")) throw new Error("bad key");
      return new Map(keys.map((key) => [key, key.toUpperCase()]));
    };
    const grouped = groupedReads(read, { most: 9, atOnce: 1, isOfOneCall: () => true });
    const calls = [["held"], ["a"], ["b", "bad"], ["c"]].map((keys) => grouped(keys));
    expect(await Promise.all(calls.map(outcome))).to.deep.equal(["done", "done", "bad key", "done"]);
    expect(await calls[3]).to.deep.equal(new Map([["c", "C"]]));
  });

  it("run one by one when their group has failed", async () => {
    let running = 0;
    let most = 0;
    const work = async (items: readonly string[]) => {
      running += 1;
      most = Math.max(most, running);
      await setImmediate();
      running -= 1;
      if (items.includes("bad")) throw new Error("bad call");
    };
    const grouped = groupedCalls(work, { most: 9, atOnce: 1, afterRound: true, isOfOneCall: () => true });
    const calls = ["a", "bad", "c", "d"].map((item) => grouped([item]));
    expect(await Promise.all(calls.map(outcome))).to.deep.equal(["done", "bad call", "done", "done"]);
    expect(most).to.equal(1);
  });

  it("are one read if they begin in the same round of the event loop, including the first", async () => {
    const reads: string[] = [];
    const read = async (keys: readonly string[]) => {
      reads.push(keys.join());
      return new Map(keys.map((key) => [key, key.toUpperCase()]));
    };
    const grouped = groupedReads(read, { most: 9, atOnce: 4 });
    const found = await Promise.all([grouped(["a"]), grouped(["b"]), grouped(["c"])]);
    expect(found.map((one) => [...one.values()].join())).to.deep.equal(["A", "B", "C"]);
    expect(reads).to.deep.equal(["a,b,c"]);
  });

  it("are read in pages, and each call resolves when its page is read", async () => {
    const events: string[] = [];
    const read = async (keys: readonly string[]) => {
      events.push(`read ${keys.join()}`);
      const [first = ""] = keys;
      return { found: new Map(first === "absent" ? [] : [[first, first.toUpperCase()]]), left: keys.slice(1) };
    };
    const paged = pagedReads(read, { most: 9, atOnce: 1 });
    await Promise.all(["a", "absent", "a", "b"].map(async (key) => events.push(`${await paged(key)}`)));
    expect(events).to.deep.equal(["read a,absent,b", "read absent,b", "A", "A", "read b", "undefined", "B"]);
  });
});
