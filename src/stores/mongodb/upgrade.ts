import type { ClientSession, Db } from "mongodb";
import { type Failpoint, noFailpoint } from "../../failpoint.js";
import type { Log } from "../../log.js";
import { LEDGER_MARK } from "../database-facts.js";
import { FIRST_LAYOUT, newestLayout, refuseOtherLayout, refuseUnknownLayout } from "../layouts.js";
import type { Connection } from "./connection.js";
import { factDocumentsOf, factsOf } from "./database-facts.js";
import { transactions } from "./transaction.js";

/**
 * Changes the documents of both databases to the next layout. Each part runs in a transaction that also stores the
 * number of its database. It may run again, and in several processes at once; one of them stores its writes. Changes of
 * more documents than fit into a transaction are written in pages outside it, and must be repeatable.
 */
export interface UpgradeStep {
  readonly data?: (db: Db, session: ClientSession) => Promise<void>;
  readonly ledger?: (db: Db, session: ClientSession) => Promise<void>;
}

export interface UpgradeOptions {
  readonly steps: readonly UpgradeStep[] | undefined;
  /** Whether a service of another version may be using the databases: an older layout is refused. */
  readonly isShared?: boolean;
  readonly log: Pick<Log, "info">;
  readonly failpoint?: Failpoint | undefined;
}

/** Fact of each database: the layout of its documents. */
const LAYOUT = "layout";

/** Layouts of databases without this fact: version 1.0.0 stores only the number of the data. */
const unmarked = { data: 0, ledger: FIRST_LAYOUT };

/** Time limit of a step in one database, ms. */
const STEP_MS = 3_600_000;

/**
 * Upgrades both databases to the newest layout, each from its own: one of them may come from a backup. The data is
 * first: version 1.0.0 refuses a newer number only there. Throws a `StartError` for an unknown layout.
 */
export async function upgradeDatabases({ client, data, ledger }: Connection, options: UpgradeOptions): Promise<void> {
  const { steps = [], isShared = false, log, failpoint = noFailpoint } = options;
  const newest = newestLayout(steps);
  const transact = transactions(client, STEP_MS);
  for (const part of ["data", "ledger"] as const) {
    const db = { data, ledger }[part];
    const name = db.databaseName;
    // A missing ledger is refused later, and a restored one has a layout of its own.
    if (part === "ledger" && (await isUsed(data)) && !(await isUsed(ledger))) return;
    const layout = await layoutOf(db, newest, unmarked[part]);
    if (isShared) refuseOtherLayout(name, layout, newest);
    for (let from = layout; from < newest; from += 1) {
      await factsOf(db).textOnce(LAYOUT, String(from));
      await transact(async (session) => {
        const before = { _id: LAYOUT, text: String(from) };
        const { matchedCount } = await factDocumentsOf(db).updateOne(
          before,
          { $set: { text: String(from + 1) } },
          { session },
        );
        // Another process has stored this step.
        if (matchedCount === 0) return;
        await steps[from - FIRST_LAYOUT]?.[part]?.(db, session);
        failpoint("layout-step-done");
      });
      log.info({ database: name, layout: from + 1 }, `upgraded the layout of ${name}`);
      failpoint("layout-step-stored");
    }
  }
}

/** Returns whether the database was marked, which is the last step of its creation. */
async function isUsed(db: Db): Promise<boolean> {
  return (await factsOf(db).text(LEDGER_MARK)) !== undefined;
}

/** Returns the layout of a database; stores the newest in a new one, before it is marked as used. */
async function layoutOf(db: Db, newest: number, unmarked: number): Promise<number> {
  const facts = factsOf(db);
  // Another process may be creating the database: the facts are read in the opposite order of their writing.
  const text = await ((await isUsed(db)) ? facts.text(LAYOUT) : facts.textOnce(LAYOUT, String(newest)));
  const layout = text === undefined ? unmarked : Number(text);
  refuseUnknownLayout(db.databaseName, layout, newest);
  return layout;
}

/** Throws a `StartError` unless the ledger has the newest layout. Changes nothing: a service may be using it. */
export async function refuseOtherLedger(ledger: Db, steps?: readonly UpgradeStep[]): Promise<void> {
  const text = await factsOf(ledger).text(LAYOUT);
  refuseOtherLayout(ledger.databaseName, text === undefined ? unmarked.ledger : Number(text), newestLayout(steps));
}
