import type { VNode } from "preact";
import type { Alert, ListPage } from "../../client/client.js";
import { age } from "../duration.js";
import { count } from "../format.js";
import { Pager } from "../list/pager.js";
import { type Column, Table } from "../list/table.js";
import { Time } from "../list/time.js";
import { Card } from "../page/card.js";
import { Head } from "../page/head.js";
import type { Loaded, Page } from "../view.js";
import { AlertGroups, measuredColumn, seriesColumn } from "./alert-groups.js";
import { limitText, spanText } from "./alert-words.js";
import { firingAlerts } from "./firing-alerts.js";

interface Data {
  readonly firing: readonly Alert[];
  readonly ended: ListPage<Alert>;
}

const REFRESH_MS = 60_000;
const PAGE_SIZE = 50;

/** The alerts that are firing, by rule, and the alerts that ended in the last 30 days. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { client, address, now, signal } = page;
  const query = { state: "ended", order: "desc", limit: PAGE_SIZE, after: address.cursors.at(-1) };
  const [firing, ended] = await Promise.all([firingAlerts(page), client.page("alert", query, { signal })]);
  return { data: { firing, ended }, nextAt: now + REFRESH_MS };
}

export function Show({ data: { firing, ended }, page }: { readonly data: Data; readonly page: Page }): VNode {
  const columns: readonly Column<Alert>[] = [
    seriesColumn("Series", page),
    {
      head: "Rule",
      cell: (alert) => (
        <span class="wrap">
          <bdi>{alert.name}</bdi>{" "}
          <span class="note">
            {limitText(alert)}
            {alert.value !== null && `, over ${spanText(alert.over)}`}
          </span>
        </span>
      ),
    },
    { ...measuredColumn, phone: "first" },
    { head: "Began", isNumber: true, cell: ({ since }) => <Time at={since} page={page} /> },
    {
      head: "Lasted",
      isNumber: true,
      cell: ({ since, resolved_at }) => resolved_at && age(Date.parse(resolved_at) - Date.parse(since)),
    },
  ];
  return (
    <>
      <Head
        page={page}
        title="Alerts"
        figure={{
          value: count(firing.length),
          unit: firing.length === 0 ? "firing: every rule is quiet" : "firing",
          isGood: firing.length > 0 ? false : undefined,
        }}
      >
        <AlertGroups alerts={firing} page={page} />
      </Head>
      <Card
        title="Ended in the last 30 days"
        actions={
          ended.meta.total > 0 && (
            <Pager
              list={ended}
              size={PAGE_SIZE}
              cursors={page.address.cursors}
              onChange={(cursors) => page.go({ cursors })}
            />
          )
        }
      >
        {ended.meta.total === 0 ? (
          <p class="note">None.</p>
        ) : (
          <Table
            class="list"
            caption="Alerts that have ended"
            columns={columns}
            rows={ended.data}
            rowKey={({ id }) => id}
          />
        )}
      </Card>
    </>
  );
}
