import type { Redis } from "ioredis";
import type { Probe } from "../../probe.js";

/** Whether the server is there, and set up so that it loses nothing by itself. The service works without it, later. */
export function redisProbe(
  client: Redis,
  /** Why connections are refused, where that is known. */
  trouble: () => string | undefined,
): Probe {
  return {
    name: "jobs",
    required: false,
    async check() {
      const info = await client.info().catch((error: unknown) => {
        if (trouble() === undefined) throw error;
      });
      if (info === undefined) return trouble();
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
      if (policy !== undefined && policy !== "noeviction") return `maxmemory-policy is ${policy}, not noeviction`;
      if (/^aof_enabled:0/m.test(info)) return "appendonly is off";
      return undefined;
    },
  };
}
