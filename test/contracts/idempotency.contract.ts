import { expect } from "chai";
import type { Idempotency } from "../../src/entities/ports.js";

const DAY = 24 * 3_600_000;

/** What every engine promises of requests that may be repeated. `open` hands out an empty store. */
export function idempotencyContract(name: string, open: () => Promise<{ store: Idempotency; close(): Promise<void> }>) {
  describe(`${name}: idempotency`, () => {
    let store: Idempotency;
    let close: () => Promise<void>;

    before(async () => {
      ({ store, close } = await open());
    });
    after(() => close());

    let serial = 0;
    const newId = () => (++serial).toString(16).padStart(64, "0");
    const fresh = (id: string, arrival: number) => ({ id, arrival, done: 0, digest: "", finished: false, tally: "" });

    it("begins at the time of the first call", async () => {
      const id = newId();
      expect(await store.begin(id, "a", 1000.5, 2000)).to.deep.equal(fresh(id, 1000.5));
      await store.release(id, "a");
      expect(await store.begin(id, "b", 1500, 2000)).to.deep.equal(fresh(id, 1000.5));
    });

    it("refuses every other owner while one has the request", async () => {
      const id = newId();
      await store.begin(id, "a", 1000, 2000);
      expect(await store.begin(id, "b", 1999, 9999)).to.equal(undefined);
      await store.release(id, "b");
      expect(await store.begin(id, "b", 1999, 9999)).to.equal(undefined);
      expect(await store.begin(id, "a", 1999, 3000)).to.deep.equal(fresh(id, 1000));
      expect(await store.begin(id, "b", 2500, 9999)).to.equal(undefined);
      expect(await store.begin(id, "b", 3000, 9999)).to.deep.equal(fresh(id, 1000));
    });

    it("lets the next owner in when the clock has been set back since the owner took the request", async () => {
      const id = newId();
      await store.begin(id, "a", 8_000_000, 8_060_000);
      expect(await store.begin(id, "b", 8_000_000, 8_060_000)).to.equal(undefined);
      expect(await store.begin(id, "b", 800_000, 860_000)).to.deep.equal(fresh(id, 8_000_000));
    });

    it("hands out the progress that was noted", async () => {
      const progress = { ...fresh(newId(), 1000), done: 7, digest: "d", finished: true, tally: "{}" };
      await store.begin(progress.id, "a", 1000, 2000);
      await store.advance(progress, "a", 4000);
      expect(await store.begin(progress.id, "b", 3000, 9999)).to.equal(undefined);
      await store.release(progress.id, "a");
      expect(await store.begin(progress.id, "b", 3000, 9999)).to.deep.equal(progress);
    });

    it("takes no progress from an owner that has lost the request", async () => {
      const progress = { ...fresh(newId(), 1000), done: 7 };
      await store.begin(progress.id, "a", 1000, 2000);
      await store.begin(progress.id, "b", 2000, 3000);
      const error = await store.advance(progress, "a", 9999).catch((reason: unknown) => reason);
      expect(error).to.have.property("kind", "conflict");
      await store.release(progress.id, "b");
      expect(await store.begin(progress.id, "c", 2000, 3000)).to.deep.equal(fresh(progress.id, 1000));
    });

    it("forgets a request after a day", async () => {
      const id = newId();
      await store.begin(id, "a", 1000, 2000);
      await store.advance({ ...fresh(id, 1000), done: 7 }, "a", 2000);
      await store.release(id, "a");
      expect((await store.begin(id, "a", 999 + DAY, 2000 + DAY))?.done).to.equal(7);
      await store.release(id, "a");
      expect(await store.begin(id, "a", 1001 + DAY, 2000 + DAY)).to.deep.equal(fresh(id, 1001 + DAY));
    });

    it("removes requests that are a day old and that no owner has", async () => {
      const [old, held, young] = [newId(), newId(), newId()];
      const progress = (id: string, arrival: number) => ({ ...fresh(id, arrival), done: 7 });
      for (const [id, arrival, until] of [
        [old, 1000, 2000],
        [held, 1000, 9 * DAY],
        [young, 1001, 2000],
      ] as const) {
        await store.begin(id, "a", arrival, until);
        await store.advance(progress(id, arrival), "a", until);
        if (id !== held) await store.release(id, "a");
      }
      for (let times = 0; times < 2; times += 1) await store.forget(1000 + DAY);
      const beginning = (id: string) => store.begin(id, "a", 2000, 3000);
      expect(await beginning(old)).to.deep.equal(fresh(old, 2000));
      expect(await beginning(held)).to.deep.equal(progress(held, 1000));
      expect(await beginning(young)).to.deep.equal(progress(young, 1001));
    });
  });
}
