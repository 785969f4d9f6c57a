import type { EngineDescription } from "../stores.js";

/** InfluxDB 2; `influxdbs:` is over TLS. */
export const influxdb: EngineDescription = {
  schemes: ["influxdb:", "influxdbs:"],
  exclusive: false,
  metrics: {
    open: async (parts) => (await import("./index.js")).openInflux(parts),
    openTarget: async (parts) => (await import("./import.js")).openInfluxImport(parts),
  },
};
