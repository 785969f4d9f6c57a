import type { Db } from "mongodb";
import type { Settings } from "../../config/settings.js";
import type { EntityId } from "../../entities/profile/entity.js";
import { StartError } from "../../errors.js";
import type { Facts } from "../../facts.js";
import type { Log } from "../../log.js";
import { matchLedger as matchFacts, NEWEST } from "../database-facts.js";
import { PEPPER_MARK, pepperBytes, pepperFingerprint } from "../pepper.js";
import { byIds, type CollectionPlan, checkCluster, makeCollections } from "./collection.js";
import { type Connection, connect } from "./connection.js";
import { factsOf } from "./database-facts.js";
import { hasNoted, newestNumber } from "./deletions/number-deletions.js";
import { entityCollectionsOf } from "./profiles/entity-document.js";
import { entityKeysOf } from "./profiles/entity-keys.js";
import { messagesOf } from "./profiles/history.js";
import { type UpgradeOptions, type UpgradeStep, upgradeDatabases } from "./upgrade.js";

/** Both databases, which belong together and to this pepper. */
export interface OpenDatabases extends Connection {
  readonly pepper: Uint8Array;
}

/** Collections of both databases. */
export interface Plans {
  readonly data: readonly CollectionPlan[];
  readonly ledger: readonly CollectionPlan[];
  /** Upgrades from the layout of version 1.0.0, each to the next layout. */
  readonly steps?: readonly UpgradeStep[];
}

interface OpenOptions extends Pick<UpgradeOptions, "isShared" | "log" | "failpoint"> {
  readonly log: Pick<Log, "info" | "warn">;
  readonly waitMs?: number;
}

/**
 * Opens both databases, upgrades their layout, creates missing collections, and refuses unsuitable databases. Safe to
 * run concurrently.
 */
export async function openDatabases(
  settings: Settings,
  plans: Plans,
  { log, waitMs, ...options }: OpenOptions,
): Promise<OpenDatabases> {
  const pepper = requiredPepper(settings.pepper);
  const fingerprint = pepperFingerprint(pepper);
  const server = { url: settings.entities.url, deadlineMs: settings.limits.store_deadline_ms, log };
  const prepare = async (connection: Connection) => {
    const { client, data, ledger } = connection;
    await checkCluster(client, { name: data.databaseName, plans: plans.data }, ledger.databaseName);
    const facts = factsOf(ledger);
    const refuseOtherPepper = (known: string) => {
      if (known === fingerprint) return;
      const name = ledger.databaseName;
      throw new StartError(`PEPPER is not the pepper of the data in ${name}: restore the original pepper`);
    };
    refuseOtherPepper((await facts.text(PEPPER_MARK)) ?? fingerprint);
    await upgradeDatabases(connection, { ...options, log, steps: plans.steps });
    await makeCollections(ledger, plans.ledger);
    await makeCollections(data, plans.data);
    await matchLedger(ledger, data);
    refuseOtherPepper(await facts.textOnce(PEPPER_MARK, fingerprint));
    if (!options.isShared) await refuseUnfinishedCopy(facts, ledger.databaseName);
  };
  const connection = await connect({ ...server, ...(waitMs === undefined ? {} : { waitMs }) }, prepare);
  return { ...connection, pepper };
}

/** Returns the key of the identity hashes: the setting PEPPER. Throws if it is missing. */
function requiredPepper(setting: string | null): Uint8Array {
  if (setting !== null) return pepperBytes(setting);
  throw new StartError("PEPPER is missing: with MongoDB it is not generated. Set it to a secret of at least 32 bytes");
}

/** Refuses data that does not belong to its ledger, and marks new data. */
export async function matchLedger(ledger: Db, data: Db): Promise<void> {
  await matchFacts(
    {
      facts: factsOf(ledger),
      name: ledger.databaseName,
      accepted: () => newestNumber(ledger),
      hasNewest: async () => (await hasNoted(ledger, data)) && (await hasKeys(ledger, await newestEntities(data))),
    },
    { facts: factsOf(data), name: data.databaseName },
  );
}

/**
 * Returns the ids of the newest profiles, and of the profiles of the newest messages, which may have been merged since.
 */
async function newestEntities(data: Db): Promise<EntityId[]> {
  const profiles = entityCollectionsOf(data).entities.find({}, { projection: { _id: 1 } });
  const messages = messagesOf(data).find({}, { projection: { entity: 1 } });
  const ids = [
    ...(await profiles.sort({ born: -1 }).limit(NEWEST).toArray()).map(({ _id }) => _id),
    ...(await messages.sort({ arrival: -1 }).limit(NEWEST).toArray()).map(({ entity }) => entity),
  ];
  return [...new Set(ids)];
}

/** Returns whether the ledger has a key, overwritten or not, for each of these ids. */
async function hasKeys(ledger: Db, ids: readonly EntityId[]): Promise<boolean> {
  return (await entityKeysOf(ledger).countDocuments(byIds(ids))) === ids.length;
}

/** In the ledger's database: the source that it is filled from, and whether the copy is complete. */
export const COPIED_FROM = "copied from";
export const COPIED = "copied";

/** Refuses databases with an unfinished copy. */
async function refuseUnfinishedCopy(ledger: Facts, name: string): Promise<void> {
  if ((await ledger.text(COPIED_FROM)) === undefined || (await ledger.text(COPIED)) !== undefined) return;
  throw new StartError(
    `${name} is being filled by npm run migrate: let it finish, or run it again if it was interrupted`,
  );
}
