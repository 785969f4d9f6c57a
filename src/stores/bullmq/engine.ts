import type { EngineDescription } from "../stores.js";

/** BullMQ in Redis; `rediss:` is over TLS. */
export const bullmq: EngineDescription = {
  schemes: ["redis:", "rediss:"],
  exclusive: false,
  jobs: { open: async (dependencies) => (await import("./index.js")).openBullmq(dependencies) },
};
