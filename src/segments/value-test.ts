import type { AttributeLeaf, Bounds } from "./rule.js";
import { textSearch } from "./text-search.js";

/** Test of a value that is no list. */
export type ValueTest = (value: unknown) => boolean;

/** Maximum characters of a text that is read as a number. */
const MAX_NUMBER_LENGTH = 30;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** Returns the test of a value by a condition without its `after` and `before`; undefined if nothing else remains. */
export function valueTest(leaf: AttributeLeaf): ValueTest | undefined {
  const fold = leaf.ignore_case ? (text: string) => text.toLowerCase() : (text: string) => text;
  const tests = textTests(leaf, fold);
  if (leaf.is !== undefined) tests.push(isOneOf([leaf.is].flat(), fold));
  const isWithin = boundsTest(leaf);
  if (isWithin !== undefined) {
    tests.push((value) => {
      const number = numberIn(value);
      return number !== undefined && isWithin(number);
    });
  }
  const [first] = tests;
  return tests.length > 1 ? (value) => tests.every((test) => test(value)) : first;
}

/** Returns the test of a number; undefined without bounds. */
export function boundsTest({ at_least, above, at_most, below }: Bounds): ((value: number) => boolean) | undefined {
  if ((at_least ?? above ?? at_most ?? below) === undefined) return undefined;
  return (value) =>
    (at_least === undefined || value >= at_least) &&
    (above === undefined || value > above) &&
    (at_most === undefined || value <= at_most) &&
    (below === undefined || value < below);
}

function textTests({ contains, starts_with, ends_with }: AttributeLeaf, fold: (text: string) => string): ValueTest[] {
  const test = (operand: string | undefined, testFor: (operand: string) => (text: string) => boolean): ValueTest[] => {
    if (operand === undefined) return [];
    const passes = testFor(fold(operand));
    return [(value) => typeof value === "string" && passes(fold(value))];
  };
  return [
    ...test(starts_with, (operand) => (text) => text.startsWith(operand)),
    ...test(ends_with, (operand) => (text) => text.endsWith(operand)),
    ...test(contains, textSearch),
  ];
}

function isOneOf(operands: readonly unknown[], fold: (text: string) => string): ValueTest {
  const texts = new Set(operands.filter((operand) => typeof operand === "string").map(fold));
  const others = new Set(operands.filter((operand) => typeof operand !== "string"));
  return (value) => {
    if (typeof value !== "string") return others.has(value);
    if (texts.size > 0 && texts.has(fold(value))) return true;
    return others.size > 0 && (others.has(numberIn(value)) || others.has(booleans.get(value)));
  };
}

const booleans = new Map([
  ["true", true],
  ["false", false],
]);

function numberIn(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.length > MAX_NUMBER_LENGTH) return undefined;
  return NUMBER.test(value) ? Number(value) : undefined;
}
