import { join } from "node:path";
import { expect } from "chai";
import { DatabaseSync } from "../../../../src/stores/sqlite/connection.js";
import { entityKeysContract } from "../../../contracts/entity-keys.contract.js";
import { ledgerContract, noScope, someDeletion } from "../../../contracts/ledger.contract.js";
import { suppressionContract } from "../../../contracts/suppression.contract.js";
import { commitOf, freshEntity, keep } from "../../../support/commits.js";
import { findBytes } from "../../../support/files.js";
import { openTemporaryStores } from "../../../support/stores.js";

const openLedger = async () => {
  const { stores, dir, close } = await openTemporaryStores();
  const { ledger, suppression, entities } = stores;
  return { ledger, suppression, entities, countErased: async () => countErased(dir), close };
};

function countErased(dir: string): number {
  const db = new DatabaseSync(join(dir, "ledger.db"));
  try {
    return (db.prepare("SELECT count(*) AS count FROM erased_identity").get() as { count: number }).count;
  } finally {
    db.close();
  }
}

ledgerContract("sqlite", openLedger);
suppressionContract("sqlite", openLedger);

entityKeysContract("sqlite", async () => {
  const { stores, dir, close } = await openTemporaryStores();
  return {
    keys: stores.entityKeys,
    async add(keys) {
      await stores.entities.commit(commitOf([], { keys }));
    },
    countHeld: (keys) => new Set(findBytes(dir, keys).map(({ needle }) => needle)).size,
    close,
  };
});

describe("the keys of identity lists in ledger.db", () => {
  it("take as many rows as requests were open at once, and are overwritten for the next ones (P30)", async () => {
    const { stores, dir } = await openTemporaryStores();
    const { ledger } = stores;
    const keyOf = (name: string) => new Uint8Array(32).fill(name.charCodeAt(0));
    const accept = (name: string) => {
      const encryptedIdentities = { key: keyOf(name), bytes: Uint8Array.of(1) };
      return ledger.accept(someDeletion(name, { encryptedIdentities }), noScope);
    };
    const destroy = (name: string) => ledger.destroyKey(`${name}-1700000000`, { done: [], times: {} });
    const complete = (name: string) => ledger.complete(`${name}-1700000000`, 2000, {});
    const held = async (name: string) =>
      (await ledger.find(`${name}-1700000000`))?.encryptedIdentities?.key.toString() === keyOf(name).toString();
    for (const name of ["a", "b"]) await accept(name);
    await destroy("a");
    // Its row is free only when it is completed: until then its key may be destroyed again.
    await accept("c");
    await destroy("a");
    await complete("a");
    await accept("d");
    await destroy("a");
    expect([await held("a"), await held("b"), await held("c"), await held("d")]).to.deep.equal([
      false,
      true,
      true,
      true,
    ]);
    for (const name of ["b", "c", "d"]) await destroy(name);
    for (const name of ["b", "c", "d"]) await complete(name);
    for (const name of ["e", "f", "g"]) await accept(name);
    const db = new DatabaseSync(join(dir, "ledger.db"));
    expect(db.prepare("SELECT count(*) AS count FROM deletion_key").get()).to.deep.include({ count: 3 });
    db.close();
    expect(findBytes(dir, ["a", "b", "c", "d"].map(keyOf))).to.deep.equal([]);
  });
});

describe("the entity keys in ledger.db", () => {
  it("are destroyed only when its journal is emptied, which another reader of the file prevents", async () => {
    const { stores, dir, close } = await openTemporaryStores();
    const id = "ab".repeat(16);
    const key = new Uint8Array(32).fill(0xc7);
    await stores.entities.commit(commitOf([], { keys: new Map([[id, key]]) }));
    const reader = new DatabaseSync(join(dir, "ledger.db"));
    try {
      reader.exec("BEGIN");
      reader.prepare("SELECT count(*) FROM entity_key").get();
      const error = await stores.entityKeys.destroy([id]).catch((reason: unknown) => reason);
      expect(error).to.have.property("message", "The journal of the ledger could not be emptied yet");
      reader.exec("COMMIT");
      await stores.entityKeys.destroy([id]);
      expect(await stores.entityKeys.destroyed([id])).to.deep.equal(new Set([id]));
      expect(findBytes(dir, [key])).to.deep.equal([]);
    } finally {
      reader.close();
      await close();
    }
  });
});

describe("an accepted deletion whose memberships could not be removed, as another process held entities.db", () => {
  it("counts the person as one who left when its run erases the profile", async function () {
    this.timeout(10_000);
    const { stores, dir } = await openTemporaryStores();
    const { ledger, entities, counts } = stores;
    const person = await keep(entities, freshEntity(), { said: [{ add: ["vip"] }] });
    const deletion = someDeletion("a", { entities: [person.id] });
    const other = new DatabaseSync(join(dir, "entities.db"));
    other.exec("BEGIN IMMEDIATE");
    const accepted = ledger.accept(deletion, { ...noScope, profiles: [person] });
    expect(await accepted.catch(({ message }: Error) => message)).to.equal("database is locked");
    other.exec("ROLLBACK");
    other.close();
    expect(await ledger.find(deletion.requestId)).to.not.equal(undefined);
    await entities.erase([person.id]);
    const left = (await counts.unsaved(Number.MAX_SAFE_INTEGER, 9)).filter(({ stream }) => stream === "/left/vip");
    expect(left.map(({ count }) => count)).to.deep.equal([1]);
  });
});
