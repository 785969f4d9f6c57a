import type { CatalogueStore } from "../../catalogue/catalogue-store.js";
import type { Experience } from "../../catalogue/experience.js";
import type { Segment } from "../../catalogue/segment.js";
import { type Database, inTransaction } from "./database.js";
import { byUtf16 } from "./text-order.js";

/** `sort` holds the id as UTF-16 big endian, so that rows lie in code unit order whatever the file's text encoding. */
export const catalogueSchema = `
  CREATE TABLE IF NOT EXISTS segment (
    sort BLOB PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, "table" TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS segment_removed (sort BLOB PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS experience (
    sort BLOB PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, "group" TEXT, audience BLOB NOT NULL, goal BLOB NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS experience_audience ON experience (audience);
  CREATE INDEX IF NOT EXISTS experience_goal ON experience (goal);`;
