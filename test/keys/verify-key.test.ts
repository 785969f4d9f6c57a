import { expect } from "chai";
import { CacheMemory } from "../../src/cache-memory.js";
import { type ApiKey, type KeyBounds, type KeyStore, keyIdOf, scopes } from "../../src/keys/api-key.js";
import { keyVerifier, mintKey } from "../../src/keys/verify-key.js";
import { keySchema, sqliteKeyStore } from "../../src/stores/sqlite/catalogue/key-store.js";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";

const admin = "em_bench_0123456789abcdef0123456789abcdef";

describe("the verification of a key", () => {
  let store: KeyStore;
  let reads: number;
  let now: number;
  let cache: CacheMemory;

  beforeEach(() => {
    const db = new DatabaseSync(":memory:");
    db.exec(keySchema);
    const stored = sqliteKeyStore(db);
    reads = 0;
    cache = new CacheMemory(2 ** 20);
    now = 1_700_000_000_000;
    store = {
      ...stored,
      find(id) {
        reads += 1;
        return stored.find(id);
      },
    };
  });

  async function added(bounds: KeyBounds = {}): Promise<{ key: string; stored: ApiKey }> {
    const minted = mintKey("", ["metric:read"], now, bounds);
    await store.add(minted.stored);
    return minted;
  }

  it("reads a valid key from the store every five seconds, not each time", async () => {
    const { key } = await added();
    const verify = keyVerifier(store, null, () => now, cache);
    for (let i = 0; i < 100; i += 1) expect(await verify(key)).to.not.equal(undefined);
    expect(reads).to.equal(1);
    now += 5000;
    await verify(key);
    expect(reads).to.equal(2);
  });

  it("stores the day of use once a day, and only of a valid key", async () => {
    const { key, stored } = await added();
    const noted: number[] = [];
    const recordUse: KeyStore["recordUse"] = (id, day) => {
      noted.push(day);
      return store.recordUse(id, day);
    };
    const verify = keyVerifier({ ...store, recordUse }, null, () => now, cache);
    expect(await verify(`${key}0`)).to.equal(undefined);
    expect(noted).to.deep.equal([]);
    const days = [Date.UTC(2023, 10, 14), Date.UTC(2023, 10, 15)];
    for (const day of days) {
      for (const hour of [8, 9, 23]) {
        now = day + hour * 3_600_000;
        expect(await verify(key)).to.not.equal(undefined);
      }
    }
    expect(noted).to.deep.equal(days);
    expect((await store.find(stored.id))?.lastUsedOn).to.equal(days[1]);
  });

  it("returns the bounds of a key, also after its end, and stores no use of it then", async () => {
    const { key, stored } = await added({ rate: 5, expiresAt: now });
    const caller = await keyVerifier(store, null, () => now, cache)(key);
    expect(caller?.bounds).to.deep.equal({ rate: 5, expiresAt: now });
    expect((await store.find(stored.id))?.lastUsedOn).to.equal(undefined);
  });

  it("accepts a key whose use cannot be stored", async () => {
    const { key, stored } = await added();
    const recordUse = () => Promise.reject(new Error("The disk is full"));
    const verify = keyVerifier({ ...store, recordUse }, null, () => now, cache);
    expect((await verify(key))?.keyId).to.equal(stored.id);
  });

  it("obeys a revocation within five seconds, also when the clock is set back", async () => {
    for (const step of [5000, -3_600_000]) {
      const { key, stored } = await added();
      const verify = keyVerifier(store, null, () => now, cache);
      await verify(key);
      await store.revoke(stored.id, now);
      now += step;
      expect(await verify(key), String(step)).to.equal(undefined);
    }
  });

  it("reads an unknown key from the store each time, so that a new key works at once", async () => {
    const verify = keyVerifier(store, null, () => now, cache);
    const { key, stored } = mintKey("", ["admin"], now);
    expect(await verify(key)).to.equal(undefined);
    await store.add(stored);
    expect(await verify(key)).to.not.equal(undefined);
  });

  it("accepts the key of the configuration with every scope, and only while it is set", async () => {
    const caller = await keyVerifier(store, admin, () => now, cache)(admin);
    expect(caller?.keyId).to.equal("admin");
    expect([...(caller?.scopes ?? [])]).to.deep.equal([...scopes]);
    expect(await keyVerifier(store, null, () => now, cache)(admin)).to.equal(undefined);
    expect(await keyVerifier(store, admin, () => now, cache)(`${admin}0`)).to.equal(undefined);
  });
});

describe("a new key", () => {
  it("consists of letters and digits, has at least 128 random bits, and is unique", () => {
    const keys = Array.from({ length: 1000 }, () => mintKey("", ["admin"], 0));
    expect(new Set(keys.map(({ key }) => key)).size).to.equal(1000);
    for (const { key, stored } of keys) {
      expect(key).to.match(/^em_[a-z0-9]+_[0-9a-f]{32,}$/);
      expect(keyIdOf(key)).to.equal(stored.id);
      expect(JSON.stringify(stored)).to.not.include(key.split("_")[2]);
    }
  });
});
