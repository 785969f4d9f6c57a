import type { VNode } from "preact";
import type { HookStatus, Readiness } from "../../client/client.js";
import { age } from "../duration.js";
import { amount, count } from "../format.js";
import { type Column, Table } from "../list/table.js";
import { Card } from "../page/card.js";
import { Facts, type NamedValue } from "../page/facts.js";
import { Head } from "../page/head.js";
import { Link } from "../page/link.js";
import { readServiceMetrics, type ServiceMetrics } from "../service-metrics.js";
import type { Loaded, Page } from "../view.js";
import { HookList } from "./hook-list.js";

interface Data {
  readonly ready: Readiness;
  readonly metrics: ServiceMetrics;
  /** Number of alerts that are firing. */
  readonly alerts: number;
  readonly hooks: readonly HookStatus[];
}

const REFRESH_MS = 15_000;
/** Maximum lag of a recorder that is on time: it checks for work every few seconds. */
const ON_TIME_S = 5;
const MEBIBYTE = 1_048_576;

const STORE_COLUMNS: readonly Column<Readiness["stores"][number]>[] = [
  { head: "Store", cell: ({ name }) => name },
  { head: "State", cell: ({ state }) => <span class={state === "up" ? "good" : "bad"}>{state}</span> },
  { head: "Note", cell: ({ note, required }) => note ?? (required ? "required" : "–") },
];

/** State of the service, of its stores and of its hooks, lag of the recorder, load. */
export async function load({ client, now, signal }: Page): Promise<Loaded<Data>> {
  const metrics = readServiceMetrics(await client.serviceMetrics({ signal }));
  const ready = await client.ready({ signal });
  const { meta } = await client.page("alert", { limit: 1 }, { signal });
  const hooks = metrics.value("hook_waiting") === undefined ? [] : await client.hooks({ signal });
  return { data: { ready, metrics, alerts: meta.total, hooks }, nextAt: now + REFRESH_MS };
}

export function Show({ data, page }: { readonly data: Data; readonly page: Page }): VNode {
  const { ready, metrics, alerts, hooks } = data;
  const [state, words] = stateOf(ready);
  return (
    <>
      <Head
        page={page}
        title="Health"
        figure={{ value: state, unit: words, isGood: state === "Ready" }}
        facts={waitingOf(metrics, alerts, page)}
      />
      <div class="halves">
        <Card title="Stores">
          <Table caption="Stores" columns={STORE_COLUMNS} rows={ready.stores} rowKey={({ name }) => name} />
        </Card>
        <Card title="This process">
          <Facts facts={loadOf(ready, metrics)} />
        </Card>
      </div>
      {hooks.length > 0 && <HookList hooks={hooks} page={page} />}
    </>
  );
}

function stateOf({ ready, degraded, stores }: Readiness): readonly [state: string, words: string] {
  const down = stores.filter(({ state }) => state !== "up").map(({ name, state }) => `${name} is ${state}`);
  if (!ready) return ["Not ready", `${down.join(", ")}: the service cannot work without`];
  return degraded ? ["Degraded", down.join(", ")] : ["Ready", "every store is up"];
}

/** Facts that may need a person: the recorder's lag, alerts and deletions. */
function waitingOf({ value }: ServiceMetrics, alerts: number, page: Page): readonly NamedValue[] {
  const lag = value("recorder_lag_seconds");
  const stuck = value("deletions_stuck") ?? 0;
  const isLate = lag !== undefined && lag >= ON_TIME_S;
  return [
    [
      "Recorder",
      <span key="recorder" class={isLate ? "bad" : undefined}>
        {lag === undefined ? "not in this process" : isLate ? `behind by ${age(lag * 1000)} ▲` : "on time"}
      </span>,
    ],
    [
      "Alerts firing",
      <Link key="alerts" to={{ view: "alerts" }} page={page}>
        {count(alerts)}
      </Link>,
    ],
    [
      "Open deletions",
      <Link key="deletions" to={{ view: "deletions" }} page={page}>
        {count(value("deletions_open") ?? 0)}
        {stuck > 0 && `, ${count(stuck)} stuck ▲`}
      </Link>,
    ],
  ];
}

function loadOf(ready: Readiness, { value }: ServiceMetrics): readonly NamedValue[] {
  const [fetched, cached] = [value("series_fetched_total"), value("series_cached_total")];
  return [
    ["Version", ready.version],
    ["Roles", ready.roles.join(", ")],
    ["Requests in flight", count(value("http_requests_under_way") ?? 0)],
    ["Connections", count(value("http_connections") ?? 0)],
    ["Series served from memory", fetched ? amount((cached ?? 0) / fetched, "rate") : "none requested yet"],
    ["Memory", `${count((value("process_resident_memory_bytes") ?? 0) / MEBIBYTE)} MiB`],
  ];
}
