import { SEGMENT_GENERATION } from "../../database-facts.js";
import type { UpgradeStep } from "../open-database.js";

/** Upgrades of `entities.db` from the layout of version 1.0.0. */
export const entitySteps: readonly UpgradeStep[] = [
  // Layout 3 had the time of the oldest event that named an identity, and no rules: the newest generation was the one
  // of the last deletion of a segment.
  (db) =>
    db.exec(`ALTER TABLE identity DROP COLUMN since;
      ALTER TABLE entity ADD COLUMN due REAL;
      ALTER TABLE segment ADD COLUMN rule TEXT;
      DROP INDEX segment_generation;
      INSERT INTO fact SELECT '${SEGMENT_GENERATION}', coalesce(max(generation), 0) FROM segment_removed;`),
];
