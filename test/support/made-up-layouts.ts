import type { ClientSession, Db } from "mongodb";
import type { UpgradeStep } from "../../src/stores/mongodb/upgrade.js";
import type { Database } from "../../src/stores/sqlite/connection.js";
import type { FileLayout } from "../../src/stores/sqlite/open-database.js";

/** A file of layout 3: things and their owners. */
export const oldFile: FileLayout = {
  name: "x.db",
  schema: [
    "CREATE TABLE IF NOT EXISTS owner (id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner ON DELETE CASCADE)",
  ],
};

/** The same file at layout 5. A second run of its first step would count twice. */
export const newFile: FileLayout = {
  name: "x.db",
  schema: [
    "CREATE TABLE IF NOT EXISTS owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
    `CREATE TABLE IF NOT EXISTS thing (
      id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner ON DELETE CASCADE, upgrades INTEGER NOT NULL DEFAULT 0)`,
    "CREATE TABLE IF NOT EXISTS extra (id INTEGER PRIMARY KEY)",
  ],
  steps: [
    (db: Database) => {
      db.exec("ALTER TABLE thing ADD COLUMN upgrades INTEGER NOT NULL DEFAULT 0");
      db.exec("UPDATE thing SET upgrades = upgrades + 1");
    },
    (db: Database) =>
      db.exec(`CREATE TABLE owner_next (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        INSERT INTO owner_next SELECT id, coalesce(name, '') FROM owner;
        DROP TABLE owner;
        ALTER TABLE owner_next RENAME TO owner;
        UPDATE thing SET upgrades = upgrades + 1`),
  ],
};

interface Thing {
  readonly _id: string;
  readonly upgrades?: number;
}

/** The collection that `newDocuments` changes. */
export const thingsOf = (db: Db) => db.collection<Thing>("things");

const count = async (db: Db, session: ClientSession) =>
  void (await thingsOf(db).updateMany({}, { $inc: { upgrades: 1 } }, { session }));

/** Steps from layout 3 to 5, of which the second changes only the data. */
export const newDocuments: readonly UpgradeStep[] = [{ data: count, ledger: count }, { data: count }];
