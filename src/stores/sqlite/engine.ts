import { StartError } from "../../errors.js";

type Engine = Pick<typeof import("@photostructure/sqlite"), "DatabaseSync" | "backup">;

/** SQLite itself: the build that comes with the package or, where its native part does not load, the one inside Node. */
export const { DatabaseSync, backup } = await loadEngine();

export type Database = InstanceType<Engine["DatabaseSync"]>;

async function loadEngine(): Promise<Engine> {
  try {
    return await import("@photostructure/sqlite");
  } catch {
    try {
      const builtIn = "node:sqlite";
      return (await import(builtIn)) as Engine;
    } catch {
      throw new StartError(
        `SQLite cannot be loaded: there is no build of @photostructure/sqlite for ${process.platform}-${process.arch}, and Node ${process.versions.node} has none of its own (Node 24 has)`,
      );
    }
  }
}
