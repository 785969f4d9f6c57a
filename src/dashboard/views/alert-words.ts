import type { Alert } from "../../client/client.js";
import { type Address, nameOf } from "../address.js";
import { typeOf } from "../dimensions.js";
import { amount, count, unitOf } from "../format.js";

/** Alerts of one rule, the worst first. */
export interface AlertGroup {
  readonly key: string;
  readonly alerts: readonly [Alert, ...Alert[]];
}

/** Returns the alerts by rule, the rule that fired last first. A rule that was changed is another one. */
export function alertGroups(alerts: readonly Alert[]): AlertGroup[] {
  const groups = new Map<string, [Alert, ...Alert[]]>();
  for (const alert of alerts) {
    const { name, dimension, dimension_type, condition, value, over } = alert;
    const key = JSON.stringify([name, dimension, dimension_type, condition, value, over]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [alert]);
    else group.push(alert);
  }
  const newest = ({ alerts }: AlertGroup) => alerts.reduce((last, { since }) => (since > last ? since : last), "");
  return [...groups]
    .map(([key, group]) => ({ key, alerts: group.sort(byBadness) }))
    .sort((a, b) => (newest(a) < newest(b) ? 1 : -1));
}

/** Orders alerts of one rule: the largest fall, the value furthest from the limit, the longest silence. */
function byBadness(a: Alert, b: Alert): number {
  if (a.measured === null || b.measured === null) return a.since < b.since ? -1 : 1;
  return a.condition === "below" ? a.measured - b.measured : b.measured - a.measured;
}

/** `47 streams fell by 10 % or more`, `web fell by 62 %, the limit is 10 %`, `Buyers at 8 members, below 9 members` */
export function alertSentence({ alerts }: Pick<AlertGroup, "alerts">): string {
  const [first, second] = alerts;
  if (second !== undefined) {
    const subject = `${count(alerts.length)} ${plurals[first.dimension] ?? first.dimension}${typeSuffix(first)}`;
    return first.condition === "falls_by"
      ? `${subject} fell by ${limitText(first)} or more`
      : `${subject} ${limitText(first)}`;
  }
  const name = alertName(first);
  if (first.measured === null) return `${name} ${limitText(first)}`;
  return first.condition === "falls_by"
    ? `${name} fell by ${measuredText(first)}, the limit is ${limitText(first)}`
    : `${name} at ${measuredText(first)}, ${limitText(first)}`;
}

const plurals: Readonly<Record<string, string>> = {
  stream: "streams",
  segment: "segments",
  experience: "experiences",
  experiencegroup: "groups of experiences",
};

/** The name of the series of an alert, with a type that is not the usual one. */
export function alertName(alert: Alert): string {
  const { dimension_name, dimension_id } = alert;
  return `${isSum(alert) ? "all streams" : (dimension_name ?? dimension_id)}${typeSuffix(alert)}`;
}

const isSum = ({ dimension, dimension_id }: Alert): boolean => dimension === "stream" && dimension_id === "all_streams";

function typeSuffix({ dimension, dimension_type: type }: Alert): string {
  return type === "size" || type === "conversionrate" ? "" : `, ${typeOf(dimension, type)?.label ?? type}`;
}

/** The limit of its rule: `10 %`, `below 100 members`, `silent for 2 h`. */
export function limitText(alert: Alert): string {
  const { condition, value, over } = alert;
  if (value === null) return `silent for ${spanText(over)} or longer`;
  return condition === "falls_by" ? percent(value) : `${condition} ${valueText(value, alert)}`;
}

/** The measured value with its unit; a dash for silence. */
export function measuredText(alert: Alert): string {
  const { measured, condition } = alert;
  if (measured === null) return "–";
  return condition === "falls_by" ? percent(measured) : valueText(measured, alert);
}

const percent = (value: number) => amount(value / 100, "rate");

function valueText(value: number, { dimension, dimension_type }: Alert): string {
  const unit = unitOf(dimension, dimension_type);
  return unit === "rate" ? amount(value, unit) : `${amount(value, unit)} ${unit === "moves" ? "people" : unit}`;
}

/** `7d` as `7 d`. */
export const spanText = (over: string): string => over.replace(/^\d+/, "$& ");

const pages = { segment: "segment", experience: "experience", experiencegroup: "group", stream: "stream" } as const;

/** The page of the series of an alert. */
export function alertPlace(alert: Alert): Partial<Address> {
  const view = pages[alert.dimension as keyof typeof pages];
  return view !== undefined && !isSum(alert)
    ? { view, id: alert.dimension_id }
    : { view: "explore", series: [nameOf(alert)] };
}
