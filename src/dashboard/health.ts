import type { Readiness } from "../client/client.js";
import { card, el, table } from "./dom.js";
import { age, amount } from "./format.js";
import type { Asked, Shown } from "./view.js";

const EVERY_MS = 15_000;

/** Is everything up, is the recorder punctual, how loaded is the process? */
export async function load({ client, now, signal }: Asked): Promise<Shown> {
  const [ready, text] = await Promise.all([client.ready({ signal }), client.serviceMetrics({ signal })]);
  const value = readings(text);
  const requests = value("entity_metrics_http_requests_under_way");
  const fetched = value("entity_metrics_series_fetched_total");
  const cached = value("entity_metrics_series_cached_total");
  const lag = value("entity_metrics_recorder_lag_seconds");
  const rows: (readonly [string, string])[] = [
    ["Recorder", lag === undefined ? "not in this process" : lag === 0 ? "punctual" : `behind by ${age(lag * 1000)}`],
    ["Requests under way", amount(requests ?? 0, "messages")],
    ["Connections", amount(value("entity_metrics_http_connections") ?? 0, "messages")],
    ["Series answered from memory", fetched ? amount((cached ?? 0) / fetched, "%") : "none asked for yet"],
    ["Open erasures", amount(value("entity_metrics_deletions_open") ?? 0, "messages")],
    ["Stuck erasures", amount(value("entity_metrics_deletions_stuck") ?? 0, "messages")],
    ["Memory", `${Math.round((value("process_resident_memory_bytes") ?? 0) / 1_048_576)} MiB`],
  ];
  return {
    content: [
      card(
        "Stores",
        el("p", { class: ready.ready && !ready.degraded ? "good" : "bad" }, words(ready)),
        table(
          "Stores",
          ["Store", "State", "Note"],
          ready.stores.map(({ name, state, note, required }) => [name, state, note ?? (required ? "required" : "–")]),
        ),
      ),
      card("This process", table("This process", ["What", "Now"], rows)),
    ],
    nextAt: now + EVERY_MS,
  };
}

function words({ ready, degraded }: Readiness): string {
  if (!ready) return "Not ready: a store that the service cannot work without is away.";
  return degraded ? "Ready, and degraded: see the notes." : "Ready: every store is up.";
}

/** Values of Prometheus text by name; those with labels added up. */
function readings(text: string): (name: string) => number | undefined {
  const sums = new Map<string, number>();
  for (const [, name = "", value = ""] of text.matchAll(/^([a-z_]+)(?:\{.*\})? (\S+)$/gm))
    sums.set(name, (sums.get(name) ?? 0) + Number(value));
  return (name) => sums.get(name);
}
