import { tmpdir } from "node:os";
import { systemClock } from "../../src/clock.js";
import { openLog } from "../../src/log.js";
import { openBullmq } from "../../src/stores/bullmq/index.js";
import type { JobEngine } from "../../src/stores/stores.js";
import { ownName, redisUrl } from "../support/servers.js";
import { settingsFor } from "../support/service.js";

export interface RedisJobsOptions {
  /** Another server than the usual one: URL without a prefix. */
  readonly server?: string;
  readonly prefix?: string;
}

/** Jobs in Redis, under a prefix of their own. */
export function openRedisJobs({ server, prefix = ownName() }: RedisJobsOptions = {}): Promise<JobEngine> {
  const settings = settingsFor(tmpdir(), { jobs: { url: redisUrl(prefix, server) } });
  return openBullmq({ settings, log: openLog("silent"), clock: systemClock });
}
