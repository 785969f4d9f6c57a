import { StartError } from "../../errors.js";
import { type Duration, durationRule, formatDuration, parseDuration } from "../../formats/duration.js";
import { dimensionIdRule, isDimensionId } from "../../reserved-names.js";
import { type Dimension, dimensionNamed, dimensionNames } from "../dimensions.js";
import { aggregate, ratioOf } from "../query/aggregate.js";
import { storedSeries } from "../query/plan.js";
import { defaultAggregation, typesOf } from "../query/request.js";
import { finite, isSum } from "../series.js";

export const conditions = ["below", "above", "falls_by", "silent_for"] as const;

export type Condition = (typeof conditions)[number];

/** An entry of the setting `alerts`, as far as `config/schema.json` checks it. */
export interface AlertSetting {
  readonly name: string;
  /** `<dimension>.<id>.<type>`, in place of a dimension and a pattern of ids. */
  readonly series?: string;
  readonly dimension?: string;
  readonly pattern?: string;
  readonly type?: string;
  readonly condition: string;
  readonly value?: number;
  readonly over?: string;
}

/** A condition on the values of one series, or of each series whose id matches a pattern. */
export interface AlertRule {
  readonly name: string;
  readonly dimension: Dimension;
  readonly type: string;
  /** Id of the only series, also while it has no point; undefined for a pattern. */
  readonly id: string | undefined;
  readonly pattern: string;
  readonly condition: Condition;
  /** Compared with what the condition measures; null for silence. */
  readonly value: number | null;
  /** Length of the window: whole slots. */
  readonly over: Duration;
  /** Equal for rules that look at the same windows: see `windowValues`. */
  readonly window: string;
}

/** Result of a rule for one series. `measured` is compared with `value`; null for silence. */
export interface Decision {
  readonly isFiring: boolean;
  readonly measured: number | null;
}

const MAX_OVER = "31d";

/** Checks the rules; points are kept for `retention` ms. Throws a `StartError` with the name of the wrong rule. */
export function alertRules(settings: readonly AlertSetting[], retention: number | undefined): AlertRule[] {
  const names = new Set<string>();
  return settings.map((setting) => {
    const refuse = (words: string): never => {
      throw new StartError(`alerts is wrong: the rule ${JSON.stringify(setting.name)} ${words}`);
    };
    if (names.has(setting.name)) refuse("has the name of another rule");
    names.add(setting.name);
    const selection = selectionOf(setting, refuse);
    const rule = { name: setting.name, ...selection, ...conditionOf(setting, selection.dimension, refuse) };
    if (windowSlots(rule) * rule.dimension.slotMs > (retention ?? Number.POSITIVE_INFINITY))
      refuse("looks further back than points are kept (metrics.retention)");
    return rule;
  });
}

type Refuse = (words: string) => never;

function selectionOf({ series, dimension: named, pattern, type }: AlertSetting, refuse: Refuse) {
  if ((series === undefined) === (pattern === undefined)) refuse("needs either series, or dimension and pattern");
  if (series !== undefined && (named ?? type) !== undefined) refuse("has series, so it takes no dimension and no type");
  const parts = series === undefined ? [named, undefined, type] : /^([^.]*)\.(.*)\.([^.]*)$/.exec(series)?.slice(1);
  const [name = "", id, given] = parts ?? refuse("has a wrong series. Allowed: <dimension>.<id>.<type>");
  const dimension = dimensionNamed(name) ?? refuse(`needs a dimension. Allowed: ${dimensionNames.join(", ")}`);
  const types = typesOf(dimension);
  const known = given ?? Object.keys(dimension.ratios)[0] ?? (types[0] as string);
  if (!types.includes(known)) refuse(`has an unknown type. Allowed for ${dimension.name}: ${types.join(", ")}`);
  if (id !== undefined && !isDimensionId(id)) refuse(`has a wrong id. Allowed: ${dimensionIdRule}`);
  if (id !== undefined && dimension.reservedIds.includes(id) && !isSum({ dimension, id }))
    refuse(`has the id ${id}, which is not a single series: use a pattern`);
  return { dimension, type: known, id, pattern: pattern ?? "" };
}

function conditionOf({ condition, value, over: text }: AlertSetting, { slotMs }: Dimension, refuse: Refuse) {
  const isSilence = condition === "silent_for";
  if (isSilence && value !== undefined) refuse("takes no value: over is the time of silence");
  if (isSilence && text === undefined) refuse("needs over, the time of silence");
  if (!isSilence && value === undefined) refuse(`needs a value for ${condition}`);
  if (condition === "falls_by" && !((value as number) > 0 && (value as number) <= 100))
    refuse("has a wrong value. Allowed for falls_by: percent, more than 0 and at most 100");
  const slot = formatDuration(slotMs);
  const over = parseDuration(text ?? slot) ?? refuse(`has a wrong over. Allowed: ${durationRule}`);
  if (over.ms % slotMs !== 0 || over.ms > (parseDuration(MAX_OVER) as Duration).ms)
    refuse(`has a wrong over. Allowed for this dimension: a multiple of ${slot}, at most ${MAX_OVER}`);
  return {
    condition: condition as Condition,
    value: value ?? null,
    over,
    window: `${isSilence} ${condition === "falls_by"} ${over.ms}`,
  };
}

/** Number of slots that a decision needs: the window, for `falls_by` after the one before it. */
export function windowSlots({ condition, over, dimension }: AlertRule): number {
  return windowCount(condition) * (over.ms / dimension.slotMs);
}

function windowCount(condition: Condition): number {
  return condition === "falls_by" ? 2 : 1;
}

/**
 * Returns the value of the window, for `falls_by` after the value of the window before it, from the last `windowSlots`
 * slots of the stored series of one series (NaN where nothing is saved): as a bucket of `/api/metric`, NaN without a
 * value. For silence it is 0, or 1 if any slot has another value than 0. Rules with an equal `window` share the result.
 */
export function windowValues(rule: AlertRule, stored: readonly Float64Array[]): ArrayLike<number> {
  if (rule.condition === "silent_for") {
    return [stored.every((slots) => slots.every((value) => !(Math.abs(value) > 0))) ? 0 : 1];
  }
  const step = rule.over.ms / rule.dimension.slotMs;
  const windows = Array.from({ length: windowCount(rule.condition) + 1 }, (_, i) => i * step);
  const [first, second] = stored.map((slots) => aggregate(slots, 0, 1, windows, defaultAggregation(rule)));
  const values = first as Float64Array;
  return second === undefined ? values : values.map((value, i) => ratioOf(value, second[i] as number));
}

/** Decides from the `windowValues`. Returns undefined if one of them is NaN: then nothing is known. */
export function decide({ condition, value }: AlertRule, windows: ArrayLike<number>): Decision | undefined {
  const limit = value as number;
  const now = windows[windows.length - 1] as number;
  const before = windows[0] as number;
  if (Number.isNaN(now) || Number.isNaN(before)) return undefined;
  if (condition === "silent_for") return { isFiring: now === 0, measured: null };
  if (condition === "below") return { isFiring: now < limit, measured: now };
  if (condition === "above") return { isFiring: now > limit, measured: now };
  const fall = before > 0 ? finite((1 - now / before) * 100) : 0;
  return { isFiring: fall >= limit, measured: fall };
}

/** Returns whether an id matches a pattern, in which `*` is any text, also none, and `?` one UTF-16 character. */
export function matches(pattern: string, id: string): boolean {
  let [at, from, star, taken] = [0, 0, -1, 0];
  while (from < id.length) {
    if (pattern[at] === "*") {
      star = at;
      at += 1;
      taken = from;
      if (at === pattern.length) return true;
    } else if (pattern[at] === "?" || pattern[at] === id[from]) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      // The last star takes one more character.
      at = star + 1;
      taken += 1;
      from = taken;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

/** Returns whether a series that has points of these stored types has values of the rule's type. */
export function hasType({ dimension, type }: AlertRule, types: readonly string[]): boolean {
  const [first, denominator = first] = storedSeries({ dimension, id: "", type });
  return types.includes(denominator.type);
}
