import { eachPage } from "../../async/pages.js";
import { yieldWhenDue } from "../../async/yielding.js";
import { ServiceError } from "../../errors.js";
import type { Facts } from "../../facts.js";
import type { Failpoint } from "../../failpoint.js";
import type { Log } from "../../log.js";
import type { EntityKeys, EntityStore } from "../ports.js";
import { unseal } from "../profile/encryption.js";
import type { EntityId, StoredEntity } from "../profile/entity.js";
import { decodeDocument } from "../profile/entity-document.js";
import type { Tables } from "../profile/entity-tables.js";
import { type Identity, identityField, identityOf } from "../profile/identity.js";

export interface CheckDependencies {
  readonly facts: Pick<Facts, "text" | "textOnce">;
  readonly entities: Pick<EntityStore, "idsAfter" | "load">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly tables: Tables;
  readonly log: Log;
  readonly failpoint: Failpoint;
}

/** Fact of the profiles: set when their identities were checked, so that restored ones are checked again. */
const CHECKED = "identities checked by 2.0.0";

/** Profiles between two lines in the log: a few seconds. */
const REPORTED = 50_000;

/**
 * Logs once how many stored profiles no request reaches any more, because this version refuses each of their
 * identities. Run it before the first request; it may be killed, and then starts over. Rejects as a store does.
 */
export async function checkIdentities(dependencies: CheckDependencies): Promise<void> {
  const { facts, entities, entityKeys, tables, log, failpoint } = dependencies;
  if ((await facts.text(CHECKED)) !== undefined) return;
  const unreached = new Map<string, number>();
  let [checked, damaged] = [0, 0];
  for await (const ids of eachPage<EntityId>(entities.idsAfter)) {
    for (let waiting: readonly EntityId[] = ids; waiting.length > 0; ) {
      const { profiles, left } = await entities.load(waiting);
      const keys = await entityKeys.read([...profiles.keys()]);
      for (const profile of profiles.values()) {
        await yieldWhenDue();
        const isReached = isReachable(tables, keys, profile);
        if (isReached === undefined) damaged += 1;
        else if (!isReached) unreached.set(profile.table, (unreached.get(profile.table) ?? 0) + 1);
        checked += 1;
        if (checked % REPORTED === 0) log.info({ profiles: checked }, "checking the identities of stored profiles");
      }
      failpoint("identities-checked-some");
      waiting = left;
    }
  }
  if (damaged > 0) log.warn({ profiles: damaged }, "damaged profiles were left out of the check of identities");
  if (unreached.size > 0) log.warn({ profiles: Object.fromEntries(unreached) }, warningOf(unreached));
  await facts.textOnce(CHECKED, "yes");
}

function warningOf(unreached: ReadonlyMap<string, number>): string {
  const counts = [...unreached].map(([table, count]) => `${count} of table ${table}`).join(" and ");
  return `profiles that have only identities which are refused since 2.0.0: ${counts}. No request reaches them: read docs/upgrading.md`;
}

/** Returns whether a request can name the profile, also if its key is destroyed; undefined if it is damaged. */
function isReachable(
  tables: Tables,
  keys: ReadonlyMap<EntityId, Uint8Array>,
  { id, table: name, sealed }: StoredEntity,
): boolean | undefined {
  const table = tables.get(name);
  if (table === undefined) return true;
  const isAccepted = ({ field: named, value }: Identity) => {
    const field = identityField(table, named);
    try {
      return field !== undefined && identityOf(table, field, value).value === value;
    } catch (error) {
      if (error instanceof ServiceError) return false;
      throw error;
    }
  };
  let identities: readonly Identity[];
  try {
    const plain = unseal(keys, { entity: id, sealed });
    if (plain === undefined) return true;
    identities = decodeDocument(plain).identities;
  } catch {
    return undefined;
  }
  return identities.some(isAccepted);
}
