import type { VNode } from "preact";
import type { Alert, ListPage } from "../../client/client.js";
import { age } from "../duration.js";
import { fullTime } from "../format.js";
import { type Column, Table } from "../list/table.js";
import { Card } from "../page/card.js";
import { Link } from "../page/link.js";
import type { Page } from "../view.js";

interface AlertsProps {
  readonly alerts: ListPage<Alert>;
  readonly page: Page;
}

/** The alerts that are firing, with since when. */
export function Alerts({ alerts: { data, meta }, page }: AlertsProps): VNode {
  const title = `Alerts: ${meta.total}`;
  const columns: readonly Column<Alert>[] = [
    { head: "Alert", cell: ({ name }) => <b class="bad">{name} ▲</b> },
    {
      head: "Series",
      cell: ({ dimension, dimension_id, dimension_type }) => {
        const name = `${dimension}.${dimension_id}.${dimension_type}`;
        return (
          <Link to={{ view: "explore", series: [name] }} page={page}>
            {name}
          </Link>
        );
      },
    },
    {
      head: "Rule",
      cell: ({ condition, value, over }) =>
        [condition.replace("_", " "), value === null ? over : `${value}, over ${over}`].join(" "),
    },
    {
      head: "Since",
      cell: ({ since }) => `${fullTime(Date.parse(since), page.zone)}, ${age(page.now - Date.parse(since))}`,
    },
  ];
  return (
    <Card title={title}>
      <Table caption={title} columns={columns} rows={data} rowKey={({ id }) => id} />
    </Card>
  );
}
