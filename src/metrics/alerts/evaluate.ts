import { yieldWhenDue } from "../../async/yielding.js";
import type { Clock } from "../../clock.js";
import type { Facts } from "../../facts.js";
import type { Log } from "../../log.js";
import type { UncachedSlots } from "../cache/uncached-slots.js";
import type { Versioned } from "../cache/versioned-cache.js";
import { type Dimension, dimensions } from "../dimensions.js";
import { ALERTS, type LeaseResult, type SeriesStore } from "../ports.js";
import { SAVE_WAIT_MS } from "../query/freshness.js";
import { storedSlots } from "../query/search-slots.js";
import type { Recorder } from "../recorder/recorder.js";
import { slotStart } from "../series.js";
import { type Alert, ENDED_FOR_MS, isFiring, newAlert, type StoredAlerts, storedAlerts } from "./alert.js";
import { type AlertRule, decide, matches, windowSlots, windowValues } from "./rule.js";
import { selectedSeries } from "./select.js";

export interface EvaluationDependencies {
  readonly rules: readonly AlertRule[];
  readonly facts: Pick<Facts, "text" | "replaceText">;
  readonly series: Pick<SeriesStore, "list">;
  readonly slots: UncachedSlots;
  /** Takes or renews the lease of the active recorder. */
  lease(): Promise<LeaseResult>;
  readonly clock: Clock;
  /** Whether events are sent to a webhook. */
  readonly isNotifying: boolean;
  readonly log: Log;
}

/** Result of all rules of a dimension for the slot that ends at `end`. */
interface EvaluatedSlot {
  readonly dimension: Dimension;
  readonly end: number;
  /** Alerts, by `keyOf`, that were firing and have not ended. */
  readonly stillFiring: ReadonlySet<string>;
  /** Alerts that began to fire, and the number of further ones. */
  readonly fired: readonly Alert[];
  readonly left: number;
}

/** Missed slots up to this age are evaluated later, ms. */
const CATCH_UP_MS = 86_400_000;

/** Interval of requests for the lease, ms. */
const ASK_EVERY_MS = 5_000;

/** Maximum open alerts, as all are one document of at most 16 MiB; further ones fire when others have ended. */
const MAX_ALERTS = 5_000;

/** Maximum alerts that have ended and are still listed: the newest. */
const MAX_ENDED = 2_000;

/**
 * Adds the evaluation of alerts to a recorder: once for each ended slot, when its counts are saved. An interrupted one
 * is repeated; the state changes as a whole, and only if no other process has changed it.
 */
export function evaluatingRecorder(recorder: Recorder, dependencies: EvaluationDependencies): Recorder {
  const { rules, facts, lease, clock, isNotifying, log } = dependencies;
  /** State of the last read; another process may have evaluated later slots. */
  let evaluated: StoredAlerts["evaluated"] = {};
  let askedAt = Number.NEGATIVE_INFINITY;
  const rulesByName = new Map(rules.map((rule) => [rule.name, rule]));

  return {
    async tick() {
      const now = clock();
      const isDue = dimensions.some((dimension) => dueSlotEnd(dimension, evaluated, now) !== undefined);
      const mayAsk = isDue && Math.abs(now - askedAt) >= ASK_EVERY_MS;
      if (mayAsk) askedAt = now;
      // The lease is held over the recorder's work, which leaves counts unsaved when another process has it.
      const isHeld = mayAsk && (await lease()) !== "refused";
      if (await recorder.tick()) return true;
      if (!isHeld || (await lease()) !== "renewed") return false;
      const current = storedAlerts(await facts.text(ALERTS));
      const slots = await evaluateDue(current, now);
      // Read again: notifications may have changed it.
      const text = await facts.text(ALERTS);
      const next = withSlots(storedAlerts(text), current.evaluated, slots);
      if (next === undefined) return false;
      if (slots.length > 0 && !(await facts.replaceText(ALERTS, text, JSON.stringify(next)))) return false;
      evaluated = next.evaluated;
      askedAt = Number.NEGATIVE_INFINITY;
      return dimensions.some((dimension) => dueSlotEnd(dimension, evaluated, now) !== undefined);
    },
  };

  /**
   * Evaluates the next slot of each dimension that has one, or the last one again if an alert is firing whose rule was
   * removed or changed since.
   */
  async function evaluateDue({ evaluated, alerts }: StoredAlerts, now: number): Promise<EvaluatedSlot[]> {
    const slots: EvaluatedSlot[] = [];
    for (const dimension of dimensions) {
      const isOutdated = (alert: Alert) => alert.dimension === dimension.name && isFiring(alert) && !isOfRule(alert);
      const end =
        dueSlotEnd(dimension, evaluated, now) ?? (alerts.some(isOutdated) ? evaluated[dimension.name] : undefined);
      if (end !== undefined) slots.push(await evaluateSlot(alerts, dimension, end));
    }
    return slots;
  }

  /** Returns whether the rule of an alert is unchanged. */
  function isOfRule({ name, dimension, dimensionId, type, condition, value, over }: Alert): boolean {
    const rule = rulesByName.get(name);
    if (rule === undefined || rule.dimension.name !== dimension || rule.type !== type) return false;
    if (rule.condition !== condition || rule.value !== value || rule.over.text !== over) return false;
    return rule.id === undefined ? matches(rule.pattern, dimensionId) : rule.id === dimensionId;
  }

  /** Returns the state after these slots; undefined if another process has evaluated slots since `before` was read. */
  function withSlots(
    latest: StoredAlerts,
    before: StoredAlerts["evaluated"],
    slots: readonly EvaluatedSlot[],
  ): StoredAlerts | undefined {
    if (dimensions.some(({ name }) => latest.evaluated[name] !== before[name])) return undefined;
    let { evaluated, alerts } = latest;
    for (const slot of slots) {
      evaluated = { ...evaluated, [slot.dimension.name]: slot.end };
      alerts = alertsAfter(alerts, slot);
    }
    return { evaluated, alerts };
  }

  async function evaluateSlot(alerts: readonly Alert[], dimension: Dimension, end: number): Promise<EvaluatedSlot> {
    const firing = new Set(alerts.filter((alert) => isFiring(alert) && isOfRule(alert)).map(keyOf));
    const stillFiring = new Set<string>();
    const fired: Alert[] = [];
    let left = 0;
    for await (const selected of selectedSeries(rules, dimension, dependencies.series)) {
      const longest = selected.map(({ id, type, slots }) => {
        return { series: { dimension, id, type }, from: end - slots * dimension.slotMs, to: end };
      });
      const stored = await storedSlots(dependencies.slots, longest);
      for (const [i, { id, type, rules }] of selected.entries()) {
        const columns = (stored[i] as Versioned<Float64Array>[]).map(({ value }) => value);
        const windows = new Map<string, ArrayLike<number>>();
        for (const rule of rules) {
          let values = windows.get(rule.window);
          if (values === undefined) {
            const length = windowSlots(rule);
            const slots = columns.map((column) => column.subarray(column.length - length));
            values = windowValues(rule, slots);
            windows.set(rule.window, values);
          }
          const decision = decide(rule, values);
          if (decision?.isFiring === false) continue;
          const key = keyOf({ name: rule.name, dimensionId: id, type });
          if (firing.has(key)) stillFiring.add(key);
          else if (decision !== undefined && fired.length >= MAX_ALERTS) left += 1;
          else if (decision !== undefined) {
            const { measured } = decision;
            fired.push(newAlert(rule, { id, since: end, measured }, isNotifying ? ["firing"] : []));
          }
        }
        await yieldWhenDue();
      }
    }
    return { dimension, end, stillFiring, fired, left };
  }

  /** Returns the alerts after a slot. */
  function alertsAfter(alerts: readonly Alert[], slot: EvaluatedSlot): Alert[] {
    const { dimension, end, stillFiring, fired } = slot;
    const all = alerts.map((alert): Alert => {
      const hasEnded = isFiring(alert) && alert.dimension === dimension.name && !stillFiring.has(keyOf(alert));
      const pending = isNotifying ? alert.pending.concat(hasEnded ? "resolved" : []) : [];
      return hasEnded ? { ...alert, pending, resolvedAt: end } : { ...alert, pending };
    });
    const isOpen = (alert: Alert) => isFiring(alert) || alert.pending.length > 0;
    const open = all.filter(isOpen);
    const ended = all.filter((alert) => !isOpen(alert) && Math.abs(end - endOf(alert)) < ENDED_FOR_MS);
    ended.sort((a, b) => endOf(a) - endOf(b));
    const added = fired.slice(0, Math.max(0, MAX_ALERTS - open.length));
    const left = slot.left + fired.length - added.length;
    if (left > 0)
      log.error({ left }, `more than ${MAX_ALERTS} alerts are open; further ones fire when others have ended`);
    const after = [...ended.slice(-MAX_ENDED), ...open, ...added];
    // Once the clock was set back, an alert can fire again under the id of one that has ended.
    return [...new Map(after.map((alert) => [alert.id, alert])).values()];
  }
}

const endOf = ({ resolvedAt = 0 }: Alert): number => resolvedAt;

/** Identifies a rule and a series in a dimension. */
function keyOf({ name, dimensionId, type }: Pick<Alert, "name" | "dimensionId" | "type">): string {
  return `${name}\0${type}\0${dimensionId}`;
}

/**
 * Returns the end of the next slot of a dimension to evaluate: the one after the last evaluated one, or, if that is
 * unknown or too far from now, the newest one. A minute passes after each slot, in which its values are written.
 */
function dueSlotEnd(dimension: Dimension, evaluated: StoredAlerts["evaluated"], now: number): number | undefined {
  const newest = slotStart(dimension, now - SAVE_WAIT_MS);
  const last = evaluated[dimension.name];
  if (last === undefined || Math.abs(newest - last) > CATCH_UP_MS) return newest;
  return last < newest ? last + dimension.slotMs : undefined;
}
