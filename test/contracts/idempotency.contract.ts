import { expect } from "chai";
import type { Idempotency, IdempotentRequest, NewIdempotentRequest } from "../../src/entities/ports.js";

const DAY = 24 * 3_600_000;

/** Promises of every engine on requests that may be repeated. `open` returns an empty store. */
export function idempotencyContract(name: string, open: () => Promise<{ store: Idempotency; close(): Promise<void> }>) {
  describe(`the store of repeatable requests of ${name}`, () => {
    let store: Idempotency;
    let close: () => Promise<void>;

    before(async () => {
      ({ store, close } = await open());
    });
    after(() => close());

    let serial = 0;
    const newRequest = (arrival: number): NewIdempotentRequest => {
      serial += 1;
      return { id: serial.toString(16).padStart(64, "0"), arrival, digest: "a1", tally: "" };
    };
    const given = (stored: IdempotentRequest | undefined) => {
      if (stored === undefined) return undefined;
      const { began: _, ...request } = stored;
      return request;
    };
    const begin = async (request: NewIdempotentRequest) => given((await store.begin(request)).stored);
    const finish = async (request: NewIdempotentRequest) => given(await store.finish(request));
    const repeatOf = (request: NewIdempotentRequest, arrival: number) => ({ ...request, arrival, digest: "b2" });

    it("stores a request once, and returns the stored one to every later call", async () => {
      const request = newRequest(1000.5);
      expect(await begin(request)).to.deep.equal(request);
      for (const arrival of [1000.5, 1500, 900, 1000 + DAY]) {
        expect(await begin(repeatOf(request, arrival))).to.deep.equal(request);
      }
    });

    it("returns the same request to all of several concurrent calls", async () => {
      const request = newRequest(1000);
      const calls = Array.from({ length: 8 }, (_, i) => begin(repeatOf(request, 1000 + i)));
      const [first, ...others] = await Promise.all(calls);
      expect(first?.id).to.equal(request.id);
      for (const other of others) expect(other).to.deep.equal(first);
    });

    it("tells one of several concurrent calls that it is the first, also if all arrive in one millisecond", async () => {
      const request = newRequest(1000);
      const calls = await Promise.all(Array.from({ length: 8 }, () => store.begin(request)));
      expect(calls.filter(({ isFirst }) => isFirst)).to.have.lengthOf(1);
      expect((await store.begin(request)).isFirst).to.equal(false);
      expect((await store.begin(repeatOf(request, 1000 + DAY))).isFirst).to.equal(true);
    });

    it("stores the tally of a request once, with the digest of the whole body", async () => {
      const request = newRequest(1000);
      await begin(request);
      const finished = { ...request, digest: "c3", tally: "{}" };
      expect(await finish(finished)).to.deep.equal(finished);
      expect(await finish({ ...request, digest: "d4", tally: "[]" })).to.deep.equal(finished);
      expect(await begin(repeatOf(request, 2000))).to.deep.equal(finished);
    });

    it("does not finish a request that is not stored, or that has begun again since", async () => {
      const request = newRequest(1000);
      expect(await finish({ ...request, tally: "{}" })).to.equal(undefined);
      await begin(request);
      const again = repeatOf(request, 1000.5 + DAY);
      expect(await begin(again)).to.deep.equal(again);
      expect(await finish({ ...request, tally: "{}" })).to.equal(undefined);
      expect(await begin(repeatOf(request, 2000 + DAY))).to.deep.equal(again);
    });

    it("begins a request again after a day", async () => {
      const request = newRequest(1000);
      await begin(request);
      await finish({ ...request, tally: "{}" });
      expect((await begin(repeatOf(request, 999 + DAY)))?.tally).to.equal("{}");
      const again = repeatOf(request, 1000 + DAY);
      expect(await begin(again)).to.deep.equal(again);
    });

    it("removes requests that are a day old", async () => {
      const [old, young] = [newRequest(1000), newRequest(1001)];
      for (const request of [old, young]) await begin(request);
      for (let times = 0; times < 2; times += 1) await store.forget(1000 + DAY);
      const later = repeatOf(old, 2000);
      expect(await begin(later)).to.deep.equal(later);
      expect(await begin(repeatOf(young, 2000))).to.deep.equal(young);
    });
  });
}
