import type { ChildService } from "./child-service.js";
import { dropFromServers } from "./drop-from-servers.js";
import { type RealService, startReal, temporaryFolder } from "./real-service.js";
import { environmentOnServers, ownName } from "./servers.js";
import { until } from "./until.js";

/** Several processes of the service over the same three servers. */
export interface ProcessSet {
  /** What their data lies under. */
  readonly name: string;
  /** Settings that each of them starts with. */
  readonly environment: Readonly<Record<string, string>>;
  /** Starts one; `role` as ROLES has it. */
  start(role: "api" | "worker" | "api,worker", environment?: Record<string, string>): Promise<RealService>;
  /** Kills the processes that still run, and removes their data. */
  close(): Promise<void>;
}

/** None of them runs yet. */
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

/** Collects messages through this process; rejects unless every one is taken. */
export async function collectThrough(service: RealService, messages: readonly object[]): Promise<void> {
  const body = messages.map((message) => JSON.stringify(message)).join("\n");
  const answer = await service.fetch("/collect/json/web", { method: "POST", body, type: "application/x-ndjson" });
  const { data } = (await answer.json()) as { data: { message_count: number } | null };
  if (answer.status !== 200 || data?.message_count !== messages.length) throw new Error(`collect: ${answer.status}`);
}

/** The request id of a DELETE through this process, asked for again while a busy machine makes it too late; rejects unless it is acknowledged. */
export async function removeThrough(service: RealService, path: string): Promise<string> {
  let requestId = "";
  await until("the DELETE is acknowledged", async () => {
    const answer = await service.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
    const { data } = (await answer.json()) as { data: { request_id: string } | null };
    if (answer.status === 503 && answer.headers.has("retry-after")) return false;
    if (answer.status !== 200 || data === null) throw new Error(`DELETE: ${answer.status}`);
    requestId = data.request_id;
    return true;
  });
  return requestId;
}

/** Whether a deletion is complete, as this process says; rejects when it does not know it. */
export async function isCompleteIn(service: RealService, requestId: string): Promise<boolean> {
  const answer = await service.fetch(`/api/entity/deletestatus/${requestId}`);
  const { data } = (await answer.json()) as { data: { completed: boolean } | null };
  if (answer.status !== 200 || data === null) throw new Error(`status of a deletion: ${answer.status}`);
  return data.completed;
}

export async function statusOf(service: RealService, path: string, key?: string): Promise<number> {
  const answer = await service.fetch(path, key === undefined ? {} : { key });
  await answer.arrayBuffer();
  return answer.status;
}
