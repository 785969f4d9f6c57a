import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Alert } from "../../client/client.js";
import { count } from "../format.js";
import { type Column, Table } from "../list/table.js";
import { Time } from "../list/time.js";
import { Card } from "../page/card.js";
import { Link } from "../page/link.js";
import type { Page } from "../view.js";
import {
  type AlertGroup,
  alertGroups,
  alertName,
  alertPlace,
  alertSentence,
  measuredText,
  spanText,
} from "./alert-words.js";

/** Series of a rule that are listed, the worst first. */
const LISTED_SERIES = 100;

/** Rules of the card. */
const CARD_RULES = 3;

interface AlertGroupsProps {
  readonly alerts: readonly Alert[];
  readonly page: Page;
  /** Maximum rules; default: all. */
  readonly most?: number;
}

/** The rules that fired last, and a link to all alerts. */
export function AlertCard({ alerts, page }: AlertGroupsProps): VNode {
  return (
    <Card title={`Alerts: ${count(alerts.length)}`}>
      <AlertGroups alerts={alerts} page={page} most={CARD_RULES} />
      <p>
        <Link to={{ view: "alerts" }} page={page}>
          All alerts
        </Link>
      </p>
    </Card>
  );
}

/** The alerts that are firing, a line for each rule, which opens in place. */
export function AlertGroups({ alerts, page, most }: AlertGroupsProps): VNode {
  return (
    <>
      {alertGroups(alerts)
        .slice(0, most)
        .map((group) => (
          <OneRule key={group.key} group={group} page={page} />
        ))}
    </>
  );
}

function OneRule({ group, page }: { readonly group: AlertGroup; readonly page: Page }): VNode {
  const [isOpen, setOpen] = useState(false);
  const { alerts } = group;
  const [{ name, over, value }] = alerts;
  const since = alerts.reduce((first, alert) => (alert.since < first ? alert.since : first), alerts[0].since);
  return (
    <details class="line" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <b>
          <span class="bad">▲</span> <bdi>{alertSentence(group)}</bdi>
        </b>{" "}
        <span class="note">
          <bdi>{name}</bdi>
          {value !== null && ` · over ${spanText(over)}`} · since <Time at={since} page={page} />
        </span>
      </summary>
      {isOpen && <Series alerts={alerts} page={page} />}
    </details>
  );
}

function Series({ alerts, page }: { readonly alerts: readonly Alert[]; readonly page: Page }): VNode {
  const [{ name, condition, dimension }] = alerts as [Alert];
  const columns: readonly Column<Alert>[] = [
    seriesColumn(
      dimension === "experiencegroup" ? "Group" : dimension.replace(/^./, (letter) => letter.toUpperCase()),
      page,
    ),
    ...(condition === "silent_for" ? [] : [measuredColumn]),
    { head: "Since", isNumber: true, cell: ({ since }) => <Time at={since} page={page} /> },
  ];
  return (
    <>
      <Table caption={name} columns={columns} rows={alerts.slice(0, LISTED_SERIES)} rowKey={({ id }) => id} />
      {alerts.length > LISTED_SERIES && (
        <p class="note">
          The worst {LISTED_SERIES} of {count(alerts.length)} are shown.
        </p>
      )}
    </>
  );
}

/** The name of a series, which leads to its page. */
export function seriesColumn(head: string, page: Page): Column<Alert> {
  return {
    head,
    cell: (alert) => (
      <Link to={alertPlace(alert)} page={page}>
        <bdi>{alertName(alert)}</bdi>
      </Link>
    ),
  };
}

/** The measured value when the alert fired. */
export const measuredColumn: Column<Alert> = {
  head: "Measured",
  isNumber: true,
  cell: (alert) => (alert.condition === "falls_by" ? `−${measuredText(alert)}` : measuredText(alert)),
};
