import type { EngineDescription } from "../stores.js";

export const mongodb: EngineDescription = {
  schemes: ["mongodb:", "mongodb+srv:"],
  exclusive: false,
  entities: {
    open: async (parts) => (await import("./index.js")).openMongo(parts),
    openKeys: async (settings) => (await import("./index.js")).openMongoKeys(settings),
    openTarget: async (parts) => (await import("./import.js")).openMongoImport(parts),
  },
};
