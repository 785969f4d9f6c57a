import { until } from "./until.js";

/** A service that is asked over HTTP, in this process or in one of its own. */
export interface AskedService {
  fetch(
    path: string,
    init?: { method?: string; body?: string; key?: string; headers?: Record<string, string> },
  ): Promise<Response>;
}

/** Collects messages in a stream, which may have a query; rejects unless every one is taken. */
export async function collectThrough(
  service: AskedService,
  messages: readonly object[],
  stream = "web",
): Promise<void> {
  const body = messages.map((message) => JSON.stringify(message)).join("\n");
  const headers = { "content-type": "application/x-ndjson" };
  const answer = await service.fetch(`/collect/json/${stream}`, { method: "POST", body, headers });
  const { data } = (await answer.json()) as { data: { message_count: number } | null };
  if (answer.status !== 200 || data?.message_count !== messages.length) throw new Error(`collect: ${answer.status}`);
}

/** The request id of a DELETE of `field/value`, repeated while it is answered 503; rejects unless acknowledged. */
export async function removeThrough(service: AskedService, path: string): Promise<string> {
  let requestId = "";
  await until("the DELETE is acknowledged", async () => {
    const answer = await service.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
    const { data } = (await answer.json()) as { data: { request_id: string } | null };
    if (isForNow(answer)) return false;
    if (answer.status !== 200 || data === null) throw new Error(`DELETE: ${answer.status}`);
    requestId = data.request_id;
    return true;
  });
  return requestId;
}

/** The request id of an acknowledged DELETE of `field/value`; undefined if the process was killed before. */
export async function removeUnlessKilled(service: AskedService, path: string): Promise<string | undefined> {
  return removeThrough(service, path).catch((error: unknown) => {
    if (error instanceof TypeError) return undefined;
    throw error;
  });
}

/** The response to a DELETE of `table/field/value`, with its body. */
export async function deleteEntity(service: AskedService, path: string) {
  const response = await service.fetch(`/api/entity/${path}`, { method: "DELETE" });
  return { response, body: (await response.json()) as { data: { request_id: string; completed: boolean } } };
}

/** The status of a deletion as it is answered, with its body. */
export async function deletionStatus(service: AskedService, requestId: string) {
  const response = await service.fetch(`/api/entity/deletestatus/${requestId}`);
  return { response, body: (await response.json()) as { data: { completed: boolean } } };
}

/** Whether a deletion is reported as completed; false also for 503, and rejects when the service does not know it. */
export async function isCompleteIn(service: AskedService, requestId: string): Promise<boolean> {
  const answer = await service.fetch(`/api/entity/deletestatus/${requestId}`);
  const { data } = (await answer.json()) as { data: { completed: boolean } | null };
  if (isForNow(answer)) return false;
  if (answer.status !== 200 || data === null) throw new Error(`status of a deletion: ${answer.status}`);
  return data.completed;
}

export async function statusOf(service: AskedService, path: string, key?: string): Promise<number> {
  const answer = await service.fetch(path, key === undefined ? {} : { key });
  await answer.arrayBuffer();
  return answer.status;
}

/** The status of a read of the profile of `field/value`. */
export function statusOfProfile(service: AskedService, path: string): Promise<number> {
  return statusOf(service, `/api/entity/user/${path}`);
}

function isForNow({ status, headers }: Response): boolean {
  return status === 503 && headers.has("retry-after");
}

/** The value of a metric of `/metrics`, named without its prefix; NaN if it is missing. */
export async function gaugeOf(service: AskedService, name: string): Promise<number> {
  const text = await (await service.fetch("/metrics")).text();
  return Number(new RegExp(`^entity_metrics_${name} (\\S+)$`, "m").exec(text)?.[1]);
}

/** A point of a series. */
export function pointOf(dimension: string, dimension_id: string, value: number, ts: number, dimension_type = "size") {
  return { dimension, dimension_id, dimension_type, value, ts };
}

/** Writes points, as an array or as a block; rejects unless they are taken. */
export async function writePoints(service: AskedService, points: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", body: JSON.stringify(points), headers };
  const answer = await service.fetch("/api/metric/points", init);
  if (answer.status !== 200) throw new Error(`write of points: ${answer.status} ${await answer.text()}`);
}

/** The buckets of the first series that a query has: start in Unix ms, and value. */
export async function valuesOf(service: AskedService, query: Record<string, unknown>): Promise<[number, number][]> {
  const all = { dimension_type: "size", ...query } as Record<string, string>;
  const answer = await service.fetch(`/api/metric?${new URLSearchParams(all)}`);
  const { data } = (await answer.json()) as { data: [{ values: { ts: string; value: number }[] }] };
  return data[0].values.map(({ ts, value }) => [Number(ts), value]);
}
