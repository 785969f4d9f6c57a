import type { Settings } from "../../config.js";
import type { Log } from "../../log.js";
import { checkCluster } from "./check-cluster.js";
import type { CollectionPlan } from "./collection.js";
import { type Connection, connect } from "./connection.js";
import { copyOldKeys } from "./key-store.js";
import { matchLedger } from "./ledger-mark.js";
import { makeCollections } from "./make-collections.js";
import { matchPepper, requiredPepper } from "./pepper.js";

/** Both databases, whole, that belong together and to this pepper. */
export interface OpenDatabases extends Connection {
  readonly pepper: Uint8Array;
}

/** Collections of both databases. */
export interface Plans {
  readonly data: readonly CollectionPlan[];
  readonly ledger: readonly CollectionPlan[];
}

/** Opens both databases, makes what is missing in them, and refuses what must not be used. Several processes may do so at once. */
export async function openDatabases(
  settings: Settings,
  log: Pick<Log, "warn">,
  plans: Plans,
  waitMs?: number,
): Promise<OpenDatabases> {
  const pepper = requiredPepper(settings.pepper);
  const options = { url: settings.entities.url, deadlineMs: settings.limits.store_deadline_ms, log };
  const prepare = async ({ client, data, ledger }: Connection) => {
    await checkCluster(client, { name: data.databaseName, plans: plans.data }, ledger.databaseName);
    await makeCollections(ledger, plans.ledger);
    await makeCollections(data, plans.data);
    await matchLedger(ledger, data);
    await copyOldKeys(data, ledger);
    await matchPepper(ledger, pepper);
  };
  const connection = await connect({ ...options, ...(waitMs === undefined ? {} : { waitMs }) }, prepare);
  return { ...connection, pepper };
}
