import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "../../src/stores/sqlite/engine.js";

/** A data folder as the first version of the embedded schema left it. */
export interface OldFolder {
  readonly dir: string;
  /** A key with `metric:read`. */
  readonly valid: string;
  /** A key with `admin` that was revoked. */
  readonly revoked: string;
}

const fixture = new URL("../fixtures/embedded-schema-1/", import.meta.url);

/** Makes it. It holds the profile of `u-1`. */
export function oldFolder(): OldFolder {
  const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  for (const name of ["ledger", "entities"]) {
    const db = new DatabaseSync(join(dir, `${name}.db`));
    db.exec(readFileSync(new URL(`${name}.sql`, fixture), "utf8"));
    db.close();
  }
  const { pepper, ...keys } = JSON.parse(readFileSync(new URL("keys.json", fixture), "utf8"));
  writeFileSync(join(dir, "pepper"), Buffer.from(pepper, "base64"), { mode: 0o600 });
  return { dir, ...keys };
}
