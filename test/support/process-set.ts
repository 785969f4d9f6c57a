import type { ChildService } from "./child-service.js";
import { dropFromServers } from "./drop-from-servers.js";
import { type RealService, startReal, temporaryFolder } from "./real-service.js";
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
  const folder = temporaryFolder();
  const begun: ChildService[] = [];
  const environment = { ...environmentOnServers(name), LOG_LEVEL: "warn", ...settings };
  return {
    name,
    environment,
    start(role, more = {}) {
      return startReal(folder.dir, { ...environment, ROLES: role, ...more }, (process) => begun.push(process));
    },
    async close() {
      for (const { child } of begun) child.kill("SIGKILL");
      await Promise.all(begun.map(({ ended }) => ended));
      folder.remove();
      await dropFromServers(name);
    },
  };
}
