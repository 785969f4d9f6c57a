import type { AttributeLeaf, Bounds, InstantTests, Leaf, Rule, StreamLeaf } from "../../src/segments/rule.js";
import type { MadeUpProfile } from "./made-up-profile.js";

const units = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Evaluates a rule at one instant from the whole history, node by node, without any shortcut. */
export function oracle(rule: Rule, profile: MadeUpProfile, now: number): boolean {
  const results = (rules: readonly Rule[]) => rules.map((part) => oracle(part, profile, now));
  if ("all" in rule) return !results(rule.all).includes(false);
  if ("any" in rule) return results(rule.any).includes(true);
  if ("not" in rule) return !oracle(rule.not, profile, now);
  return leafHolds(rule, profile, now);
}

function leafHolds(leaf: Leaf, profile: MadeUpProfile, now: number): boolean {
  if ("segment" in leaf) return profile.segments?.includes(leaf.segment) === true;
  if ("stream" in leaf) return streamHolds(leaf, profile, now);
  if ("attribute" in leaf) return attributeHolds(leaf, profile, now);
  const seen = Object.values(profile.streams ?? {}).flat();
  if (leaf.profile === "created_at") return instantHolds(leaf, profile.createdAt ?? 0, now);
  return seen.length > 0 && instantHolds(leaf, Math.max(...seen), now);
}

function streamHolds(
  { stream, count, first, last }: StreamLeaf,
  { streams = {} }: MadeUpProfile,
  now: number,
): boolean {
  const times = [...new Set([stream].flat())].flatMap((name) => streams[name] ?? []);
  const isOk: boolean[] = [];
  if (count !== undefined) {
    const { within, ...bounds } = count;
    const counted = within === undefined ? times : times.filter((time) => time >= now - duration(within));
    isOk.push(boundsHold(bounds, counted.length));
  }
  if (first !== undefined) isOk.push(times.length > 0 && instantHolds(first, Math.min(...times), now));
  if (last !== undefined) isOk.push(times.length > 0 && instantHolds(last, Math.max(...times), now));
  return isOk.length === 0 ? times.length > 0 : isOk.every(Boolean);
}

function attributeHolds(leaf: AttributeLeaf, { attributes = {} }: MadeUpProfile, now: number): boolean {
  const [name = "", ...keys] = [leaf.attribute].flat();
  let found: unknown[] = [attributes[name]];
  for (const key of keys) {
    found = found.flatMap((value) => elementsOf(value)).map((value) => entryOf(value, key));
  }
  const present = found.filter((value) => value !== undefined && value !== null);
  const { attribute: _, ignore_case: __, ...tests } = leaf;
  if (Object.keys(tests).length === 0) return present.length > 0;
  return present.flatMap((value) => elementsOf(value)).some((value) => valueHolds(leaf, value, now));
}

function elementsOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, 1_000).filter((element) => !Array.isArray(element)) : [value];
}

function entryOf(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

function valueHolds(leaf: AttributeLeaf, value: unknown, now: number): boolean {
  const { is, contains, starts_with, ends_with, ignore_case, at_least, above, at_most, below, after, before } = leaf;
  const folded = (one: unknown) => (ignore_case && typeof one === "string" ? one.toLowerCase() : one);
  const text = typeof value === "string" ? String(folded(value)) : undefined;
  const operand = (one: string) => String(folded(one));
  const isOk: boolean[] = [];
  if (is !== undefined) {
    isOk.push(
      [is].flat().some((one) => {
        if (typeof one === "number") return numberOf(value) === one;
        if (typeof one === "boolean") return value === one || value === String(one);
        return text === operand(one);
      }),
    );
  }
  if (contains !== undefined) isOk.push(text !== undefined && text.indexOf(operand(contains)) >= 0);
  if (starts_with !== undefined) isOk.push(text !== undefined && text.indexOf(operand(starts_with)) === 0);
  if (ends_with !== undefined) {
    isOk.push(text !== undefined && text.slice(Math.max(0, text.length - ends_with.length)) === operand(ends_with));
  }
  if ((at_least ?? above ?? at_most ?? below) !== undefined) {
    const number = numberOf(value);
    isOk.push(number !== undefined && boundsHold(leaf, number));
  }
  if ((after ?? before) !== undefined) {
    const instant = instantOf(value);
    isOk.push(instant !== undefined && instantHolds(leaf, instant, now));
  }
  return isOk.every(Boolean);
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && value.length <= 30 && /^-?[0-9]+(\.[0-9]+)?$/.test(value)
    ? Number.parseFloat(value)
    : undefined;
}

/** Reads the forms of instants that the made-up values have. */
function instantOf(value: unknown): number | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value);
  if (/^\d{13}$/.test(text)) return Number(text);
  if (/^\d{10}$/.test(text)) return Number(text) * 1000;
  return typeof value === "string" && /^\d{4}-\d\d-\d\d(T.*Z)?$/.test(text) ? Date.parse(text) : undefined;
}

function instantHolds({ after, before }: InstantTests, instant: number, now: number): boolean {
  return (
    (after === undefined || instant >= pointOf(after, now)) && (before === undefined || instant < pointOf(before, now))
  );
}

function pointOf(written: string | number, now: number): number {
  const [, sign, distance] = /^now(?:([+-])(.+))?$/.exec(String(written)) ?? [];
  if (distance !== undefined) return now + (sign === "-" ? -1 : 1) * duration(distance);
  return written === "now" ? now : (instantOf(written) as number);
}

function duration(text: string): number {
  return Number(text.slice(0, -1)) * units[text.at(-1) as keyof typeof units];
}

function boundsHold(bounds: Bounds, number: number): boolean {
  const { at_least = -Infinity, above = -Infinity, at_most = Infinity, below = Infinity } = bounds;
  return number >= at_least && number > above && number <= at_most && number < below;
}
