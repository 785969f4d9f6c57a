import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../../errors.js";

/** Name of a file next to `ledger.db`: the mark of the ledger, and the number of its newest deletion. */
const NAME = "ledger.accepted";

/**
 * Throws a `StartError` if this ledger had accepted a newer deletion than `accepted`: it is an older copy, or its
 * `-wal` file was removed. The file is written after the ledger and without a sync, so it is never ahead of it.
 */
export function checkAccepted(dir: string, mark: string, accepted: number): void {
  const [ledger, number] = contentOf(join(dir, NAME)).split(" ");
  if (ledger !== mark || !(Number(number) > accepted)) return;
  throw new StartError(
    `ledger.db in ${dir} lacks deletions that it had accepted: put back the newest one with its ledger.db-wal. If it is lost, remove ${NAME}; these people are readable again`,
  );
}

/** Returns a function that records the newest deletion. A failure costs only the next check. */
export function recordAccepted(dir: string, mark: string): (accepted: number) => void {
  return (accepted) => {
    try {
      writeFileSync(join(dir, NAME), `${mark} ${accepted} \n`, { mode: 0o600 });
    } catch {
      // The ledger and the data have the deletion.
    }
  };
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
