import type { Db } from "mongodb";
import { StartError } from "../../errors.js";
import type { CollectionPlan } from "./collection.js";
import { marks, textOf, textOnce } from "./marks.js";

/** In the ledger's database: which source it is filled from, and that this is done. */
const SOURCE = "copied from";
const FINISHED = "copied";

/** Refuses databases that a copy was begun into and not finished. */
export async function refuseUnfinishedCopy(ledger: Db): Promise<void> {
  if ((await textOf(ledger, SOURCE)) === undefined || (await textOf(ledger, FINISHED)) !== undefined) return;
  throw new StartError(
    `${ledger.databaseName} is being filled by npm run migrate: let it finish, or run it again if it was interrupted`,
  );
}

/** As `ProfileTarget.begin` says. */
export async function beginCopy(
  { data, ledger }: { readonly data: Db; readonly ledger: Db },
  plans: { readonly data: readonly CollectionPlan[]; readonly ledger: readonly CollectionPlan[] },
  source: string,
): Promise<{ readonly anew: boolean }> {
  const begun = await textOf(ledger, SOURCE);
  if (begun !== undefined && (await textOf(ledger, FINISHED)) !== undefined) {
    throw new StartError(
      `${data.databaseName} was filled by npm run migrate before, and is in use: name another database`,
    );
  }
  if (begun === undefined) {
    await refuseUsed(data, plans.data);
    await refuseUsed(ledger, plans.ledger);
  }
  if ((await textOnce(ledger, SOURCE, source)) !== source) {
    throw new StartError(`${data.databaseName} is being filled from another folder: name another database, or drop it`);
  }
  return { anew: begun === undefined };
}

/** Safe to repeat. */
export async function finishCopy(ledger: Db): Promise<void> {
  await textOnce(ledger, FINISHED, "yes");
}

async function refuseUsed(db: Db, plans: readonly CollectionPlan[]): Promise<void> {
  for (const { name } of plans) {
    if (name === marks.name || (await db.collection(name).findOne({}, { projection: { _id: 1 } })) === null) continue;
    throw new StartError(`${db.databaseName} holds something already (${name}): name an empty database`);
  }
}
