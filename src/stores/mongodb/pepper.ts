import type { Db } from "mongodb";
import { StartError } from "../../errors.js";
import { pepperBytes, pepperFingerprint } from "../pepper.js";
import { textOnce } from "./marks.js";

/** The key of the identity hashes: the setting PEPPER. Throws when there is none. */
export function requiredPepper(setting: string | null): Uint8Array {
  if (setting !== null) return pepperBytes(setting);
  throw new StartError("PEPPER is missing: with MongoDB it is not made here. Set it to a secret of at least 32 bytes");
}

/** Refuses another pepper than the one that the ledger was made with. */
export async function matchPepper(ledger: Db, pepper: Uint8Array): Promise<void> {
  const fingerprint = pepperFingerprint(pepper);
  if ((await textOnce(ledger, "pepper", fingerprint)) === fingerprint) return;
  throw new StartError(
    `PEPPER is not the pepper that the data in ${ledger.databaseName} was made with: give back the one it was made with`,
  );
}
