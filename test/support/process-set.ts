import type { ChildService } from "./child-service.js";
import { dataFolder } from "./data-folder.js";
import { dropFromServers } from "./drop-from-servers.js";
import { endsWithTest } from "./ends-with-test.js";
import { type RealService, startReal } from "./real-service.js";
import { environmentOnServers, ownName } from "./servers.js";

/** Several processes of the service over the same three servers. */
export interface ProcessSet {
  /** Name of their databases, bucket and prefix of keys. */
  readonly name: string;
  /** Settings that each of them starts with. */
  readonly environment: Readonly<Record<string, string>>;
  /** Starts one process; `role` is the value of ROLES. */
  start(role: "api" | "worker" | "api,worker", environment?: Record<string, string>): Promise<RealService>;
  /** Kills the processes that still run, and removes their data. */
  close(): Promise<void>;
}

/** Returns the set without starting a process. */
export async function processSet(settings: Record<string, string> = {}): Promise<ProcessSet> {
  const name = ownName();
  const dir = dataFolder();
  const begun: ChildService[] = [];
  const environment = { ...environmentOnServers(name), LOG_LEVEL: "warn", ...settings };
  return {
    name,
    environment,
    start(role, more = {}) {
      return startReal(dir, { ...environment, ROLES: role, ...more }, (process) => begun.push(process));
    },
    close: endsWithTest(async () => {
      await Promise.all(begun.map(({ kill }) => kill()));
      await dropFromServers(name);
    }),
  };
}
