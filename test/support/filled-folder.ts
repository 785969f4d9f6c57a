import { readFileSync } from "node:fs";
import { join } from "node:path";
import { mintKey } from "../../src/keys/verify-key.js";
import { segment, stream } from "../../src/metrics/dimensions.js";
import { ALERTS } from "../../src/metrics/ports.js";
import type { Stores } from "../../src/stores/stores.js";
import { startService } from "./service.js";
import { until } from "./until.js";

/** The data folder of a service that was used for a while and stopped. */
export interface FilledFolder {
  readonly dir: string;
  /** The value of the variable PEPPER. */
  readonly pepper: string;
  /** A key with every scope. */
  readonly key: string;
  /** Names of people in it, and of people who were erased. */
  readonly people: readonly string[];
  readonly erased: readonly string[];
  readonly requestIds: readonly string[];
}

const HOUR = 3_600_000;

/** Weeks of points before now. */
const WEEKS = 3;

/** Fills a folder through the API: profiles that were joined, updated and erased, a catalogue, a key, points. */
export async function filledFolder(): Promise<FilledFolder> {
  const service = await startService();
  const send = async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const answer = await service.fetch(path, { method, headers, ...(json === undefined ? {} : { json }) });
    const body = (await answer.json()) as { data: Record<string, unknown> };
    if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${JSON.stringify(body)}`);
    return body.data;
  };

  const people = Array.from({ length: 40 }, (_, i) => `person-${i}`);
  for (const id of ["news", "beta", "old"])
    await send("PUT", `/api/segment/${id}`, { name: `The ${id}`, table: "user" });
  await send("PUT", "/api/mark/release", {
    ts: "2025-01-02",
    text: "Release",
    dimension: "segment",
    dimension_id: "news",
  });
  await send("PUT", "/api/experience/welcome", { name: "Welcome", group: "all", audience: "news", goal: "beta" });
  await send("POST", "/collect/json/web", people.map(messageOf), { "Idempotency-Key": "first" });
  // Two profiles that are merged, one that leaves a segment, and a full list of segments.
  await send("POST", "/collect/json/mobile", [
    { _uid: "person-0", user_id: 7 },
    { email: "person-1@example.com", user_id: 7 },
    { _uid: "person-2", segments: { add: ["beta"], remove: ["news"] }, city: null },
    { _uid: "person-3", segments: ["beta"] },
  ]);
  await send("DELETE", "/api/segment/old");
  const erased = people.slice(35);
  const requestIds: string[] = [];
  for (const name of erased) {
    const { request_id: id } = await send("DELETE", `/api/entity/user/_uid/${name}`);
    requestIds.push(id as string);
  }
  for (const id of requestIds) {
    await until("the erasure", async () => (await send("GET", `/api/entity/deletestatus/${id}`)).completed === true);
  }
  const keys = await service.fetch("/.well-known/jwks.json");
  if (!keys.ok) throw new Error(`no key of receipts was made: ${keys.status}`);
  await send("POST", "/api/metric/points", pointsUpTo(Date.now()));
  const { key, stored } = mintKey("of the folder", ["entity:read", "metric:read"], Date.now(), {
    by: "email",
    eventStreams: true,
    origins: ["https://a.example"],
    expiresAt: Date.now() + 3_600_000,
  });
  const { stores } = service.service;
  await stores.keys.add(stored);
  await stores.keys.addEventNames(stored.id, ["signed_up", "page"]);
  await stores.facts.replaceText(ALERTS, undefined, JSON.stringify({ evaluated: {}, alerts: [] }));
  await recordSizes(stores);
  await addPoints(stores);
  await service.stop({ keep: true });
  const pepper = `base64:${readFileSync(join(service.dir, "pepper")).toString("base64")}`;
  return { dir: service.dir, pepper, key, people: people.slice(0, 35), erased, requestIds };
}

function messageOf(name: string, index: number): object {
  return { _uid: name, email: `${name}@example.com`, city: "Oslo", visits: index, segments: ["news", "old"] };
}

/** A block of points of some series, with gaps. */
function pointsUpTo(now: number): object {
  const end = Math.floor(now / HOUR) * HOUR;
  const ts = Array.from({ length: WEEKS * 168 }, (_, i) => end - (WEEKS * 168 - i) * HOUR);
  const series = ["web", "mobile", "shop"].map((id) => ({
    dimension: "stream",
    dimension_id: id,
    dimension_type: "size",
  }));
  return {
    series,
    ts,
    values: series.map((_, row) => ts.map((at, i) => ((i + row) % 7 === 0 ? null : (at / HOUR) % 100))),
  };
}

/** Added points: of a slot that is settled, and of one that is not. */
async function addPoints({ series }: Stores): Promise<void> {
  const hour = Math.floor(Date.now() / HOUR) * HOUR;
  const counted = { dimension: stream, id: "counted", type: "size" };
  const points = Array.from({ length: 300 }, (_, i) => ({
    ms: hour - (i % 2 === 0 ? 50 : 2) * HOUR + Math.floor(i / 4),
    ns: i % 3,
    source: (i % 2) * 2 ** 47 + (i % 5),
    value: 0.25 * i,
  }));
  await series.add([{ series: counted, points }]);
  await series.settle(hour - 40 * HOUR);
}

/** Sizes of a segment as the recorder writes them, over a slot that clients wrote too. */
async function recordSizes({ series }: Stores): Promise<void> {
  const from = Math.floor(Date.now() / segment.slotMs) * segment.slotMs - 10 * segment.slotMs;
  const sizes = { dimension: segment, id: "recorded", type: "size" };
  await series.write("recorder", [{ series: sizes, from, values: Float64Array.of(1.5, 2, 3) }]);
  await series.write("clients", [{ series: sizes, from: from + segment.slotMs, values: Float64Array.of(20) }]);
}
