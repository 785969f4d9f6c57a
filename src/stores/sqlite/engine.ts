import type { EngineDescription } from "../stores.js";

/** The embedded engine: files in a folder that one process owns exclusively. */
export const sqlite: EngineDescription = {
  schemes: ["sqlite:"],
  exclusive: true,
  entities: {
    open: async (dependencies) => (await import("./index.js")).openSqliteEntities(dependencies),
    openKeys: async (settings) => (await import("./index.js")).openSqliteKeys(settings),
  },
  metrics: {
    open: async (dependencies) => (await import("./index.js")).openSqliteMetrics(dependencies),
  },
};
