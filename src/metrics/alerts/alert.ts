import { createHash } from "node:crypto";
import { timeText } from "../../formats/instant.js";
import type { AlertRule, Condition } from "./rule.js";

export type AlertEvent = "firing" | "resolved";

/** A rule that is or was firing for one series. */
export interface Alert {
  readonly id: string;
  /** Name, condition, value and duration of its rule when it fired. */
  readonly name: string;
  readonly condition: Condition;
  readonly value: number | null;
  readonly over: string;
  readonly dimension: string;
  readonly dimensionId: string;
  readonly type: string;
  /** End of the slot with which it began to fire, and of the one with which it stopped, Unix ms. */
  readonly since: number;
  readonly resolvedAt?: number;
  readonly measured: number | null;
  /** Events that the webhook has not received, in order. */
  readonly pending: readonly AlertEvent[];
  /** Failed attempts to deliver the first of them, and the earliest time of the next one, Unix ms. */
  readonly attempts: number;
  readonly notBefore: number;
}

/** The state that all processes share. */
export interface StoredAlerts {
  /** End of the last evaluated slot, Unix ms, by the name of the dimension. */
  readonly evaluated: Readonly<Record<string, number>>;
  /** First alerts that have ended, then firing ones and ones with a pending event, in the order of their firing. */
  readonly alerts: readonly Alert[];
}

/** Parses the fact `ALERTS`. */
export function storedAlerts(text: string | undefined): StoredAlerts {
  return text === undefined ? { evaluated: {}, alerts: [] } : (JSON.parse(text) as StoredAlerts);
}

/** An alert that has ended is listed for this long, ms. */
export const ENDED_FOR_MS = 30 * 86_400_000;

export function isFiring({ resolvedAt }: Alert): boolean {
  return resolvedAt === undefined;
}

/**
 * Creates an alert. Its id depends on the rule, the series and the slot only, so a repeated evaluation has it too. Ids
 * are in the order of `since`, as its seconds have ten digits.
 */
export function newAlert(
  { name, condition, value, over, dimension, type }: AlertRule,
  { id: dimensionId, since, measured }: { id: string; since: number; measured: number | null },
  pending: readonly AlertEvent[],
): Alert {
  const series = { dimension: dimension.name, dimensionId, type };
  const rule = { name, condition, value, over: over.text };
  const digest = createHash("sha256")
    .update(JSON.stringify([rule, series, since]))
    .digest("hex");
  const id = `${since / 1000}-${digest.slice(0, 20)}`;
  return { id, ...rule, ...series, since, measured, pending, attempts: 0, notBefore: 0 };
}

/** The fields of an alert in responses and notifications. */
export function alertFields({ id, name, condition, value, over, since, measured, ...series }: Alert) {
  return {
    id,
    name,
    dimension: series.dimension,
    dimension_id: series.dimensionId,
    dimension_type: series.type,
    condition,
    value,
    over,
    since: timeText(since),
    measured,
  };
}
