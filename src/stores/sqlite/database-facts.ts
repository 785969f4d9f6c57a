import type { Facts } from "../../facts.js";
import { type Database, withoutSync } from "./connection.js";

/** Single facts about a file: a text, or a number that only increases. */
export const factSchema = "CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID";

/** The facts of a file. */
export function factsOf(db: Database): Facts {
  return {
    text: async (name) => storedValue(db, name) as string | undefined,

    async textOnce(name, text) {
      db.prepare("INSERT OR IGNORE INTO fact VALUES (?, ?)").run(name, text);
      return storedValue(db, name) as string;
    },

    async replaceText(name, before, text, mayBeLost) {
      const replace = () =>
        before === undefined
          ? db.prepare("INSERT OR IGNORE INTO fact VALUES (?, ?)").run(name, text)
          : db.prepare("UPDATE fact SET value = ? WHERE name = ? AND value = ?").run(text, name, before);
      return (mayBeLost ? withoutSync(db, replace) : replace()).changes > 0;
    },

    number: async (name) => (storedValue(db, name) ?? 0) as number,
    raise: async (name, number) => raiseTo(db)(name, number),
  };
}

/** Returns the value of a fact; undefined if it was never set. */
export function storedValue(db: Database, name: string): string | number | undefined {
  const row = db.prepare("SELECT value FROM fact WHERE name = ?").get(name);
  return (row as { value: string | number } | undefined)?.value;
}

/** Returns a function that raises the number under a name to at least this one. Safe to repeat. */
export function raiseTo(db: Database): (name: string, number: number) => void {
  const raise = db.prepare(
    "INSERT INTO fact VALUES (?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
  );
  return (name, number) => void raise.run(name, number);
}
