import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../errors.js";
import { PEPPER_MARK, pepperBytes, pepperFingerprint } from "../pepper.js";
import type { Database } from "./connection.js";
import { storedValue } from "./database-facts.js";

/**
 * Returns the key of the identity hashes: `setting` (PEPPER), else the file `pepper` of the folder, else 32 new random
 * bytes, stored in that file for its owner only. Throws if the ledger was created with another pepper.
 */
export function openPepper(dir: string, ledger: Database, setting: string | null): Uint8Array {
  const known = storedValue(ledger, PEPPER_MARK);
  const file = join(dir, "pepper");
  const pepper =
    setting === null
      ? (readPepper(file) ?? (known === undefined ? makePepper(file) : missing(file)))
      : pepperBytes(setting);
  const fingerprint = pepperFingerprint(pepper);
  if (known === undefined) ledger.prepare("INSERT INTO fact VALUES (?, ?)").run(PEPPER_MARK, fingerprint);
  else if (known !== fingerprint)
    throw new StartError(
      `${setting === null ? file : "PEPPER"} is not the pepper of the data in ${dir}: restore the original pepper`,
    );
  return pepper;
}

function readPepper(file: string): Buffer | undefined {
  let pepper: Buffer;
  try {
    pepper = readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new StartError(`${file} cannot be read (${code})`, { cause: error });
  }
  if (pepper.length < 32) throw new StartError(`${file} is damaged: it has fewer than 32 bytes`);
  return pepper;
}

/** Written to another file, then renamed, so that a crash leaves either no pepper or a whole one. */
function makePepper(file: string): Buffer {
  const pepper = randomBytes(32);
  writeFileSync(`${file}.new`, pepper, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
  return pepper;
}

function missing(file: string): never {
  throw new StartError(`${file} is missing: put it back, or set PEPPER; without it no profile can be found`);
}
