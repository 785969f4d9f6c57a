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
const CARD_SERIES = 10;

/** Rules of the card. */
const CARD_RULES = 3;

interface AlertsProps {
  readonly alerts: readonly Alert[];
  readonly page: Page;
}

/** The rules that fired last, and a link to all alerts. */
export function AlertCard({ alerts, page }: AlertsProps): VNode {
  return (
    <Card title={`Alerts: ${count(alerts.length)}`}>
      <AlertGroups alerts={alerts} page={page} rules={CARD_RULES} series={CARD_SERIES} />
      <p>
        <Link to={{ view: "alerts" }} page={page}>
          All alerts
        </Link>
      </p>
    </Card>
  );
}

interface AlertGroupsProps extends AlertsProps {
  /** Maximum rules; default: all. */
  readonly rules?: number;
  /** Maximum listed series of a rule. */
  readonly series?: number;
}

/** The alerts that are firing, a line for each rule, which opens in place. */
export function AlertGroups({ alerts, page, rules, series = LISTED_SERIES }: AlertGroupsProps): VNode {
  return (
    <>
      {alertGroups(alerts)
        .slice(0, rules)
        .map((group) => (
          <OneRule key={group.key} group={group} most={series} page={page} />
        ))}
    </>
  );
}

interface OneRuleProps {
  readonly group: AlertGroup;
  /** Maximum listed series. */
  readonly most: number;
  readonly page: Page;
}

function OneRule({ group, most, page }: OneRuleProps): VNode {
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
      {isOpen && <Series alerts={alerts} most={most} page={page} />}
    </details>
  );
}

function Series({ alerts, most, page }: AlertsProps & Pick<OneRuleProps, "most">): VNode {
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
      <Table class="pairs" caption={name} columns={columns} rows={alerts.slice(0, most)} rowKey={({ id }) => id} />
      {alerts.length > most && (
        <p class="note">
          The worst {most} of {count(alerts.length)} are shown.
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
        <bdi class="cut" title={alertName(alert)}>
          {alertName(alert)}
        </bdi>
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
