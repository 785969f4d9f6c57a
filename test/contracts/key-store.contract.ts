import { expect } from "chai";
import { type ApiKey, type KeyStore, MAX_EVENT_NAMES } from "../../src/keys/api-key.js";

const DAY = 86_400_000;

/** Promises of every engine on `KeyStore`. `open` returns an empty one. */
export function keyStoreContract(name: string, open: () => Promise<{ store: KeyStore; close(): Promise<void> }>): void {
  describe(`the store of API keys of ${name}`, () => {
    let store: KeyStore;
    let close: () => Promise<void>;

    beforeEach(async () => {
      ({ store, close } = await open());
    });
    afterEach(() => close());

    it("finds a key by its id as it was added", async () => {
      await store.add(key("one", 1));
      expect(await store.find("one")).to.deep.equal(key("one", 1));
      expect(await store.find("two")).to.equal(undefined);
      expect(await store.find("ONE")).to.equal(undefined);
    });

    it("refuses a second key of an id, and leaves the first unchanged", async () => {
      await store.add(key("one", 1));
      const error = await store.add(key("one", 2)).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(Error);
      expect(await store.list()).to.deep.equal([key("one", 1)]);
    });

    it("finds a key with all its bounds as it was added", async () => {
      const bounds = {
        stream: "web",
        eventStreams: true as const,
        fields: ["plan", "naïve name", "segments"],
        by: "email",
        origins: ["https://a.example"],
        rate: 60,
        expiresAt: 2 * DAY,
      };
      await store.add({ ...key("one", 1), bounds });
      expect(await store.find("one")).to.deep.equal({ ...key("one", 1), bounds });
      expect(await store.list()).to.deep.equal([{ ...key("one", 1), bounds }]);
    });

    it("finds the origins of keys that are neither revoked nor expired", async () => {
      await store.add({ ...key("free", 1) });
      await store.add({ ...key("two", 1), bounds: { origins: ["https://a.example", "https://b.example"] } });
      await store.add({ ...key("ends", 1), bounds: { origins: ["https://c.example"], expiresAt: 10 } });
      await store.add({ ...key("gone", 1), bounds: { origins: ["https://d.example"] } });
      await store.revoke("gone", 5);
      const known = async (now: number) => {
        const origins = ["a", "b", "c", "d", "e"].map((name) => `https://${name}.example`);
        const found = await Promise.all(origins.map((origin) => store.hasOrigin(origin, now)));
        return origins.filter((_, i) => found[i]).map((origin) => origin["https://".length]);
      };
      expect(await known(9)).to.deep.equal(["a", "b", "c"]);
      expect(await known(10)).to.deep.equal(["a", "b"]);
      expect(await store.hasOrigin("a.example", 9)).to.equal(false);
    });

    it("lists all keys, including revoked ones, the oldest first", async () => {
      await store.add(key("late", 2));
      await store.add(key("early", 1));
      await store.revoke("early", 5);
      expect((await store.list()).map(({ id }) => id)).to.deep.equal(["early", "late"]);
    });

    it("stores the time of the first revocation, and returns false for an unknown key", async () => {
      await store.add(key("one", 1));
      expect(await store.revoke("one", 5)).to.equal(true);
      expect(await store.revoke("one", 9)).to.equal(true);
      expect((await store.find("one"))?.revokedAt).to.equal(5);
      expect(await store.revoke("none", 5)).to.equal(false);
    });

    it("stores the newest day of use, and changes no other property", async () => {
      await store.add(key("one", 1));
      await store.add(key("two", 2));
      for (const day of [2 * DAY, 4 * DAY, 3 * DAY, 4 * DAY]) await store.recordUse("one", day);
      expect(await store.find("one")).to.deep.equal({ ...key("one", 1), lastUsedOn: 4 * DAY });
      expect(await store.list()).to.deep.equal([{ ...key("one", 1), lastUsedOn: 4 * DAY }, key("two", 2)]);
    });

    it("stores names of events after the stored ones, each once, and changes no other property", async () => {
      await store.add(key("one", 1));
      await store.add(key("two", 2));
      expect(await store.addEventNames("one", ["b", "a"])).to.deep.equal(["b", "a"]);
      expect(await store.addEventNames("one", ["c", "a", "_9.-"])).to.deep.equal(["b", "a", "c", "_9.-"]);
      const all = await store.list();
      expect(all).to.deep.equal([{ ...key("one", 1), eventNames: ["b", "a", "c", "_9.-"] }, key("two", 2)]);
    });

    it("stores the first 500 names of events of a key, also if they are added at once", async () => {
      await store.add(key("one", 1));
      const namesOf = (of: string, count: number) => Array.from({ length: count }, (_, i) => `${of}-${i}`);
      const first = namesOf("first", MAX_EVENT_NAMES - 20);
      await store.addEventNames("one", first);
      const results = await Promise.all(
        ["a", "b", "c"].map((of) => store.addEventNames("one", [...namesOf(of, 8), "shared"])),
      );
      for (const names of results) expect(names.slice(0, first.length)).to.deep.equal(first);
      const names = (await store.find("one"))?.eventNames ?? [];
      expect(names).to.have.length(MAX_EVENT_NAMES);
      expect(new Set(names).size).to.equal(MAX_EVENT_NAMES);
      expect(names).to.include("shared");
      expect(await store.addEventNames("one", ["late", "shared"])).to.deep.equal(names);
    });

    it("stores no name of an event of an unknown key", async () => {
      expect(await store.addEventNames("none", ["a"])).to.deep.equal([]);
      expect(await store.list()).to.deep.equal([]);
    });

    it("stores no use of an unknown key", async () => {
      await store.recordUse("none", DAY);
      expect(await store.list()).to.deep.equal([]);
    });
  });
}

function key(id: string, createdAt: number): ApiKey {
  return {
    id,
    name: `Key ${id}`,
    scopes: ["metric:read", "admin"],
    bounds: {},
    digest: "ab".repeat(32),
    createdAt,
    revokedAt: undefined,
    lastUsedOn: undefined,
  };
}
