import { expect } from "chai";
import fc from "fast-check";
import { CacheMemory, SharedCache } from "../src/cache-memory.js";

const MOST = 100_000;

describe("caches that share memory", () => {
  it("still serve most entries that fit when the last one does not", () => {
    const entry = 10_000;
    const asked = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);
    const partServed = (count: number, most: number) => {
      const cache = new SharedCache<string>(new CacheMemory(most));
      let hits = 0;
      const rounds = 100;
      for (let round = 0; round < rounds; round += 1) {
        for (const key of asked(count)) {
          if (cache.get(key) === undefined) cache.set(key, key, entry - 300);
          else if (round >= rounds / 2) hits += 1;
        }
      }
      return hits / (count * (rounds / 2));
    };
    expect(partServed(100, 100 * entry)).to.equal(1);
    expect(partServed(101, 100 * entry)).to.be.above(0.9);
    expect(partServed(136, 100 * entry)).to.be.above(0.5);
    expect(partServed(200, 100 * entry)).to.be.above(0.2);
  });

  it("return the last value of a key or nothing, never exceed their bytes with the state, and drop unused entries", () => {
    const key = fc.integer({ min: 0, max: 40 }).map(String);
    const size = fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 90_000, max: 110_000 }));
    const which = fc.boolean();
    const step = fc.oneof(
      fc.record({ kind: fc.constant("set" as const), which, key, size }),
      fc.record({ kind: fc.constant("get" as const), which, key, size }),
      fc.record({ kind: fc.constant("grow" as const), which, key, size }),
      fc.record({ kind: fc.constant("end" as const), which, key, size }),
      fc.record({ kind: fc.constant("clear" as const), which, key, size }),
      fc.record({ kind: fc.constant("hold" as const), which, key, size }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const memory = new CacheMemory(MOST);
        let state = 0;
        const caches = [true, false].map((is) => ({
          is,
          cache: new SharedCache<Value>(memory),
          last: new Map<string, Value>(),
        }));
        for (const { kind, which, key, size } of steps) {
          const { cache, last } = caches.find(({ is }) => is === which) as (typeof caches)[number];
          const known = last.get(key);
          if (kind === "get")
            expect(cache.get(key, isValid)).to.be.oneOf([known?.isValid ? known : undefined, undefined]);
          else if (kind === "end" && known !== undefined) known.isValid = false;
          else if (kind === "clear") {
            cache.clear();
            last.clear();
          } else if (kind === "hold") {
            const change = (size % 20_000) - state;
            memory.hold(change);
            state += change;
          } else if (kind === "grow" && known !== undefined) {
            if (cache.get(key) === known) known.bytes += size;
            cache.grow(key, known, size);
          } else if (kind === "set") {
            const value = { isValid: true, bytes: size };
            last.set(key, value);
            cache.set(key, value, size);
            // A refused or evicted value leaves nothing, and never the one before.
            expect(cache.get(key)).to.be.oneOf([value, undefined]);
          }
          const held = caches.flatMap(({ cache, last }) =>
            [...last].filter(([key, value]) => cache.get(key) === value),
          );
          const bytes = held.reduce((sum, [, value]) => sum + value.bytes, 0);
          expect(bytes).to.be.at.most(memory.bytes - state);
          expect(memory.bytes).to.be.at.most(MOST);
        }
        memory.hold(-state);
        const { cache } = caches[0] as (typeof caches)[number];
        for (let i = 0; i < 4_000; i += 1) cache.set(`new ${i}`, { isValid: true, bytes: 1_000 }, 1_000);
        for (const { last, cache } of caches) for (const key of last.keys()) expect(cache.get(key)).to.equal(undefined);
      }),
    );
  });
});

interface Value {
  isValid: boolean;
  bytes: number;
}

function isValid(value: Value): boolean {
  return value.isValid;
}
