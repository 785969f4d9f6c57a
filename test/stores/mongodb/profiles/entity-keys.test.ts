import { expect } from "chai";
import { Binary, BSON, type Db } from "mongodb";
import {
  addKeys,
  entityKeysCollections,
  keyWrapping,
  mongoEntityKeys,
} from "../../../../src/stores/mongodb/profiles/entity-keys.js";
import { entityKeysContract, newKeys, type OpenEntityKeys } from "../../../contracts/entity-keys.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestDatabase } from "../database.js";

const pepper = keyWrapping(Buffer.from("a pepper of at least thirty-two bytes"));

onServers(["mongodb"], "the store of entity keys on MongoDB", () => {
  const open = async (): Promise<OpenEntityKeys> => {
    const { db, close } = await openTestDatabase(entityKeysCollections);
    return { keys: mongoEntityKeys(db, pepper), add: (keys) => add(db, keys), countHeld: () => undefined, close };
  };
  const add = (db: Db, keys: ReadonlyMap<string, Uint8Array>) =>
    db.client.withSession((session) => addKeys(db, pepper, keys, session));
  entityKeysContract("mongodb", open, 300);

  it("stores keys only encrypted and in records of one size, and overwrites them when they are destroyed", async () => {
    const { db, close } = await openTestDatabase(entityKeysCollections);
    const keys = mongoEntityKeys(db, pepper);
    const ids = Array.from({ length: 20 }, (_, index) => `entity-${index}`);
    await add(db, newKeys(ids));
    const plain = [...(await keys.read(ids)).values()];
    const stored = async () => db.collection<{ _id: string; key: Binary }>("entity_keys").find().toArray();
    const before = await stored();
    await keys.destroy(ids);
    const after = await stored();
    await close();
    for (const documents of [before, after]) {
      const bytes = Buffer.concat(documents.map((document) => BSON.serialize(document)));
      // Parts of a key would help to guess it, so no eight bytes of it may be stored either.
      for (const key of plain) {
        for (let from = 0; from <= key.length - 8; from += 1) {
          expect(bytes.includes(Buffer.from(key.subarray(from, from + 8)))).to.equal(false);
        }
      }
      expect(new Set(documents.map(({ key }) => key.value().length))).to.deep.equal(new Set([40]));
    }
    expect(after.every(({ key }) => key.value().every((byte) => byte === 0))).to.equal(true);
  });

  it("decrypts keys only with the pepper that they were encrypted with", async () => {
    const { db, close } = await openTestDatabase(entityKeysCollections);
    await add(db, newKeys(["a"]));
    const other = mongoEntityKeys(db, keyWrapping(Buffer.from("another pepper of at least thirty-two bytes")));
    const failed = await other.read(["a"]).then(
      () => false,
      () => true,
    );
    await close();
    expect(failed).to.equal(true);
  });

  it("returns the keys of one caller while another caller requests a damaged key", async () => {
    const { db, close } = await openTestDatabase(entityKeysCollections);
    const keys = mongoEntityKeys(db, pepper);
    await add(db, newKeys(["a", "damaged", "held 1", "held 2", "held 3", "held 4"]));
    const damage = { $set: { key: new Binary(Buffer.alloc(40, 7)) } };
    await db.collection<{ _id: string }>("entity_keys").updateOne({ _id: "damaged" }, damage);
    const held = [1, 2, 3, 4].map((n) => keys.read([`held ${n}`]));
    const [good, damaged] = await Promise.allSettled([keys.read(["a"]), keys.read(["damaged"]), ...held]);
    await close();
    expect([good?.status, damaged?.status]).to.deep.equal(["fulfilled", "rejected"]);
  });
});
