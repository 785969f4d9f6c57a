import { expect } from "chai";
import { CacheMemory } from "../../src/cache-memory.js";
import { type KeyStore, MAX_EVENT_NAMES } from "../../src/keys/api-key.js";
import { eventNames } from "../../src/keys/event-names.js";
import { mintKey } from "../../src/keys/verify-key.js";
import { keySchema, sqliteKeyStore } from "../../src/stores/sqlite/catalogue/key-store.js";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";

describe("the names of events of a key", () => {
  let store: KeyStore;
  let added: (readonly string[])[];
  let id: string;

  beforeEach(async () => {
    const db = new DatabaseSync(":memory:");
    db.exec(keySchema);
    const stored = sqliteKeyStore(db);
    added = [];
    store = {
      ...stored,
      addEventNames(key, names) {
        added.push(names);
        return stored.addEventNames(key, names);
      },
    };
    const minted = mintKey("", ["entity:write"], 0, { eventStreams: true });
    await store.add(minted.stored);
    id = minted.stored.id;
  });

  const opened = () => eventNames(store, new CacheMemory(2 ** 20));
  const namesOf = async (names: ReturnType<typeof opened>, ...sent: string[]) => [...(await names(id, new Set(sent)))];

  it("are read from the store only for a name that this process does not know", async () => {
    const names = opened();
    expect(await namesOf(names, "a", "b")).to.deep.equal(["a", "b"]);
    for (let times = 0; times < 3; times += 1) expect(await namesOf(names, "b", "a")).to.deep.equal(["a", "b"]);
    expect(await namesOf(names)).to.deep.equal(["a", "b"]);
    expect(await namesOf(names, "a", "c")).to.deep.equal(["a", "b", "c"]);
    expect(added).to.deep.equal([["a", "b"], ["c"]]);
  });

  it("include the names that other processes, and earlier runs, have stored", async () => {
    const [one, two] = [opened(), opened()];
    await namesOf(one, "a");
    await namesOf(two, "b");
    expect(await namesOf(one, "c")).to.deep.equal(["a", "b", "c"]);
    expect(await namesOf(opened(), "b")).to.deep.equal(["a", "b", "c"]);
  });

  it("are not looked up any more once there are 500", async () => {
    const names = opened();
    await namesOf(names, ...Array.from({ length: MAX_EVENT_NAMES + 1 }, (_, i) => `n-${i}`));
    const stored = await namesOf(names, "further", "n-0");
    expect(stored).to.have.length(MAX_EVENT_NAMES).and.not.include.members(["further"]);
    expect(added).to.have.length(1);
  });
});
