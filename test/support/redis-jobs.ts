import { tmpdir } from "node:os";
import { type Log, openLog } from "../../src/log.js";
import type { SharedEra } from "../../src/metrics/shared-era.js";
import { openBullmq } from "../../src/stores/bullmq/index.js";
import type { TickSchedule } from "../../src/stores/bullmq/ticks.js";
import { marks, mongoSharedEra } from "../../src/stores/mongodb/marks.js";
import type { JobEngine } from "../../src/stores/stores.js";
import { openTestDatabase } from "./mongo-database.js";
import { influxdbUrl, mongodbUrl, ownName, redisUrl } from "./servers.js";
import { settingsFor } from "./service.js";

export interface RedisJobsOptions {
  /** Another server than the usual one: URL without a prefix. */
  readonly server?: string;
  readonly prefix?: string;
  readonly ticks?: TickSchedule;
  readonly storeDeadlineMs?: number;
  readonly log?: Log;
}

/** Never called by a process that alone keeps profiles and series. */
const nobodyElse: SharedEra = { read: async () => 0, raise: async () => {} };

/** The jobs of a process that alone keeps profiles and series. */
export function openLoneJobs(options: RedisJobsOptions = {}): Promise<JobEngine> {
  return open(options, nobodyElse, {});
}

/** The jobs and the news of one of several processes. */
export function openSharedJobs(sharedEra: SharedEra, options: RedisJobsOptions = {}): Promise<JobEngine> {
  return open(options, sharedEra, {
    entities: { url: mongodbUrl("unused") },
    metrics: { url: influxdbUrl("unused") },
  });
}

function open(
  { server, prefix = ownName(), ticks, storeDeadlineMs, log = openLog("silent") }: RedisJobsOptions,
  sharedEra: SharedEra,
  urls: object,
): Promise<JobEngine> {
  const settings = settingsFor(tmpdir(), {
    ...urls,
    jobs: { url: redisUrl(prefix, server) },
    limits: storeDeadlineMs === undefined ? {} : { store_deadline_ms: storeDeadlineMs },
  });
  return openBullmq({ settings, log }, sharedEra, ticks);
}

/** An era in a database of its own. */
export async function openTestEra(server?: string): Promise<{ sharedEra: SharedEra; close(): Promise<void> }> {
  const { db, close } = await openTestDatabase([marks], server);
  return { sharedEra: mongoSharedEra(db), close };
}
