import type { UpgradeStep } from "../upgrade.js";
import { deletionsOf } from "./ledger-document.js";

/** Upgrades of the ledger's database from the layout of version 1.0.0. */
export const ledgerSteps: readonly UpgradeStep[] = [
  {
    // In layout 3 a request waited for an earlier one with a null `nextTarget`. Both writes are repeatable.
    ledger: async (db) => {
      await deletionsOf(db).updateMany({ open: true, nextTarget: null }, { $set: { problem: null } });
      await deletionsOf(db).updateMany({ open: true, nextTarget: "" }, { $set: { nextTarget: null } });
    },
  },
];
