import { tmpdir } from "node:os";
import { systemClock } from "../../../src/clock.js";
import { openLog } from "../../../src/log.js";
import { openBullmq } from "../../../src/stores/bullmq/index.js";
import type { JobEngine } from "../../../src/stores/stores.js";
import { ownName, redisUrl } from "../../support/servers.js";
import { settingsFor } from "../../support/service.js";
import { until } from "../../support/until.js";

export interface RedisJobsOptions {
  /** Another server than the usual one: URL without a prefix. */
  readonly server?: string;
  readonly prefix?: string;
  /** Whether Redis cannot be reached now; otherwise opening waits until it is connected. */
  readonly isAway?: boolean;
}

/** Jobs in Redis, under a prefix of their own. */
export async function openRedisJobs(options: RedisJobsOptions = {}): Promise<JobEngine> {
  const { server, prefix = ownName(), isAway = false } = options;
  const settings = settingsFor(tmpdir(), { jobs: { url: redisUrl(prefix, server) } });
  const engine = await openBullmq({ settings, log: openLog("silent"), clock: systemClock });
  if (isAway) return engine;
  const answers = () =>
    engine.probes[0]?.check().then(
      () => true,
      () => false,
    ) ?? false;
  // The first answer can precede the end of the client's own check, until which notifications are dropped.
  await until("Redis is connected", async () => (await answers()) && (await answers()));
  return engine;
}
