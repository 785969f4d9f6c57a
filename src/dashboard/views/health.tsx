import type { VNode } from "preact";
import type { Alert, ListPage, Readiness } from "../../client/client.js";
import { age } from "../duration.js";
import { amount, count } from "../format.js";
import { type Column, Table } from "../list/table.js";
import { Card } from "../page/card.js";
import { Fact } from "../page/fact.js";
import { readServiceMetrics, type ServiceMetrics } from "../service-metrics.js";
import type { Loaded, Page } from "../view.js";
import { Alerts } from "./alerts.js";

interface Data {
  readonly ready: Readiness;
  readonly metrics: ServiceMetrics;
  readonly alerts: ListPage<Alert>;
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

/** Stores, alerts, version, recorder, load. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { client, now, signal } = page;
  const metrics = readServiceMetrics(await client.serviceMetrics({ signal }));
  const data = { ready: await client.ready({ signal }), metrics, alerts: await client.page("alert", {}, { signal }) };
  return { data, nextAt: now + REFRESH_MS };
}

export function Show({ data: { ready, metrics, alerts }, page }: { readonly data: Data; readonly page: Page }): VNode {
  return (
    <>
      <h1 class="hidden">Health</h1>
      <Card title="Stores">
        <p class={ready.ready && !ready.degraded ? "good" : "bad"}>{summaryOf(ready)}</p>
        <Table caption="Stores" columns={STORE_COLUMNS} rows={ready.stores} rowKey={({ name }) => name} />
      </Card>
      {alerts.data.length > 0 && <Alerts alerts={alerts} page={page} />}
      <Card title="This process">
        <dl class="facts">
          {factsOf(ready, metrics, alerts.meta.total).map(([name, value]) => (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ))}
        </dl>
      </Card>
    </>
  );
}

function summaryOf({ ready, degraded }: Readiness): string {
  if (!ready) return "Not ready: a store that the service cannot work without is unreachable.";
  return degraded ? "Ready, but degraded: see the notes." : "Ready: every store is up.";
}

function factsOf(ready: Readiness, { value }: ServiceMetrics, alerts: number): (readonly [string, string])[] {
  const lag = value("recorder_lag_seconds");
  const [fetched, cached] = [value("series_fetched_total"), value("series_cached_total")];
  return [
    ["Version", ready.version],
    ["Roles", ready.roles.join(", ")],
    [
      "Recorder",
      lag === undefined ? "not in this process" : lag < ON_TIME_S ? "on time" : `behind by ${age(lag * 1000)}`,
    ],
    ["Requests in flight", count(value("http_requests_under_way") ?? 0)],
    ["Connections", count(value("http_connections") ?? 0)],
    ["Series served from memory", fetched ? amount((cached ?? 0) / fetched, "rate") : "none requested yet"],
    ["Alerts firing", count(alerts)],
    ["Open deletions", count(value("deletions_open") ?? 0)],
    ["Stuck deletions", count(value("deletions_stuck") ?? 0)],
    ["Memory", `${count((value("process_resident_memory_bytes") ?? 0) / MEBIBYTE)} MiB`],
  ];
}
