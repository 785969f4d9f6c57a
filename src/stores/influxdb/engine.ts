import type { EngineDescription } from "../stores.js";

/** InfluxDB 2; `influxdbs:` is over TLS. */
export const influxdb: EngineDescription = {
  schemes: ["influxdb:", "influxdbs:"],
  exclusive: false,
  metrics: {
    open: async (dependencies) => (await import("./index.js")).openInflux(dependencies),
    openTarget: async (dependencies) => (await import("./import.js")).openInfluxImport(dependencies),
  },
};
