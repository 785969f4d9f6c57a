import { StartError } from "../../errors.js";
import type { SharedEra } from "../../metrics/shared-era.js";
import type { JobEngine, OpenParts } from "../stores.js";

/** Opens jobs and news of writes in Redis. */
export async function openBullmq(_: OpenParts, __: SharedEra): Promise<JobEngine> {
  throw new StartError("JOBS_URL asks for Redis, which this version does not serve");
}
