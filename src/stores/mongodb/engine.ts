import type { EngineDescription } from "../stores.js";

export const mongodb: EngineDescription = {
  schemes: ["mongodb:", "mongodb+srv:"],
  exclusive: false,
  entities: {
    open: async (dependencies) => (await import("./index.js")).openMongo(dependencies),
    openKeys: async (settings) => (await import("./index.js")).openMongoKeys(settings),
    openTarget: async (dependencies) => (await import("./import.js")).openMongoImport(dependencies),
  },
};
