import { expect } from "chai";
import { ServiceError } from "../src/errors.js";
import { parsedBytes } from "../src/formats/json-size.js";
import { MemoryBudget } from "../src/memory-budget.js";

describe("the memory budget of requests", () => {
  const open = (budget: MemoryBudget) => {
    let end = () => {};
    const reservation = budget.open((then) => {
      end = then;
    });
    return Object.assign(reservation, { end: () => end() });
  };

  it("refuses the first byte beyond its limit as busy, with a time to retry", () => {
    for (const [bytes, isRefused] of [
      [5, false],
      [6, false],
      [7, true],
    ] as const) {
      const budget = new MemoryBudget(10);
      open(budget).reserve(4);
      const second = open(budget);
      if (!isRefused) second.reserve(bytes);
      else
        expect(() => second.reserve(bytes))
          .to.throw(ServiceError)
          .with.property("retryAfter", 1);
      expect(budget.reserved).to.equal(isRefused ? 4 : 4 + bytes);
    }
  });

  it("may be exceeded by a single request", () => {
    const budget = new MemoryBudget(10);
    const alone = open(budget);
    alone.reserve(8);
    alone.reserve(8);
    expect(budget.reserved).to.equal(16);
    expect(() => open(budget).reserve(1)).to.throw(ServiceError);
  });

  it("gets memory back when it is released, and the rest when the request ends", () => {
    const budget = new MemoryBudget(10);
    const one = open(budget);
    one.reserve(9);
    one.release(4);
    expect(budget.reserved).to.equal(5);
    one.end();
    one.release(4);
    expect(budget.reserved).to.equal(0);
    expect(() => one.reserve(1))
      .to.throw(ServiceError)
      .with.property("kind", "timed-out");
  });
});

describe("the estimated memory of a parsed JSON text", () => {
  it("counts objects, arrays, names and commas outside strings, and the text", () => {
    expect(parsedBytes('{"a":[1,2]}')).to.equal(11 + 3 * 64 + 16);
    expect(parsedBytes('"{[:,\\"]}"')).to.equal(10);
  });

  it("is at most 33 bytes for each byte of the text", () => {
    for (const text of ["[".repeat(999) + "]".repeat(999), `[${Array(999).fill("{}").join()}]`, '{"":{"":{"":0}}}'])
      expect(parsedBytes(text) / text.length).to.be.at.most(33);
  });
});

describe("an error for invalid input", () => {
  it("captures no stack, while an error for a defect does", () => {
    expect(new ServiceError("invalid", "bad").stack).not.to.match(/\n +at /);
    expect(new ServiceError("internal", "bad").stack).to.match(/\n +at /);
    expect(new Error("other").stack).to.match(/\n +at /);
  });
});
