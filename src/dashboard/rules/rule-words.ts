import type { AttributeLeaf, InstantTests, Leaf, Rule, StreamLeaf } from "../../segments/rule.js";
import { durationWords } from "../duration.js";

/** A part of a sentence: words of ours, or a name or value of the rule. */
export type Piece = string | { readonly value: string };

/** Names of segments by id. */
export type SegmentNames = ReadonlyMap<string, string>;

/** Words for the tests of a value. */
export const testWords = {
  is: "is",
  at_least: "at least",
  above: "above",
  at_most: "at most",
  below: "below",
  contains: "contains",
  starts_with: "starts with",
  ends_with: "ends with",
  after: "after",
  before: "before",
} as const;

export const bounds = ["at_least", "above", "at_most", "below"] as const;

/** Returns a rule as one sentence: `plan is pro or team, and seen within 30 days, and not in Staff`. */
export function ruleSentence(rule: Rule, names: SegmentNames): string {
  if ("all" in rule) return joinedSentence(rule.all, "and", names);
  if ("any" in rule) return joinedSentence(rule.any, "or", names);
  if (!("not" in rule)) return textOf(conditionPieces(rule, names));
  const missing = missingPieces(rule.not);
  return missing === undefined ? `not ${partSentence(rule.not, names)}` : textOf(missing);
}

function joinedSentence(parts: readonly Rule[], word: string, names: SegmentNames): string {
  return parts.map((part) => (parts.length === 1 ? ruleSentence : partSentence)(part, names)).join(`, ${word} `);
}

/** A group of several conditions in another one is in brackets. */
function partSentence(part: Rule, names: SegmentNames): string {
  const parts = "all" in part ? part.all : "any" in part ? part.any : [];
  const sentence = ruleSentence(part, names);
  return parts.length > 1 ? `(${sentence})` : sentence;
}

const textOf = (pieces: readonly Piece[]) =>
  pieces.map((piece) => (typeof piece === "string" ? piece : piece.value)).join("");

/** Returns a condition as a phrase: `plan is pro or team`. */
export function conditionPieces(leaf: Leaf, names: SegmentNames): Piece[] {
  if ("attribute" in leaf) return attributePieces(leaf);
  if ("stream" in leaf) return streamPieces(leaf);
  if ("segment" in leaf) return ["in ", { value: names.get(leaf.segment) ?? leaf.segment }];
  return leaf.profile === "created_at"
    ? ["created ", ...pastPieces(leaf)]
    : [isRecent(leaf) ? "seen " : "last seen ", ...pastPieces(leaf)];
}

/** Returns a phrase for the negation of a test that an attribute exists; undefined for any other condition. */
export function missingPieces(node: Rule): Piece[] | undefined {
  return "attribute" in node && isExistence(node) ? ["has no ", nameOf(node.attribute)] : undefined;
}

/** In an explanation a condition also has `holds`. */
const isExistence = (leaf: AttributeLeaf) =>
  Object.keys(leaf).every((field) => field === "attribute" || field === "holds");

const nameOf = (attribute: string | readonly string[]): Piece => ({ value: [attribute].flat().join(" › ") });

function attributePieces(leaf: AttributeLeaf): Piece[] {
  if (isExistence(leaf)) return ["has ", nameOf(leaf.attribute)];
  const tests: Piece[][] = [];
  if (leaf.is !== undefined) tests.push(["is ", ...listed([leaf.is].flat().map(String))]);
  for (const test of bounds) if (leaf[test] !== undefined) tests.push([`is ${testWords[test]} `, of(leaf[test])]);
  for (const test of ["contains", "starts_with", "ends_with"] as const)
    if (leaf[test] !== undefined) tests.push([`${testWords[test]} `, of(leaf[test])]);
  if (leaf.ignore_case) tests.at(-1)?.push(" in any case");
  for (const test of ["after", "before"] as const)
    if (leaf[test] !== undefined) tests.push([`is ${test} `, of(instantWords(leaf[test]))]);
  return [nameOf(leaf.attribute), " ", ...joined(tests, " and ")];
}

function streamPieces({ stream, count, first, last }: StreamLeaf): Piece[] {
  const streams = listed([stream].flat());
  const tests: Piece[][] = [];
  if (count !== undefined) {
    const tested = bounds.filter((test) => count[test] !== undefined);
    const numbers = tested.map((test): Piece[] => [`${testWords[test]} `, of(timesOf(count[test] as number))]);
    const within = count.within === undefined ? [] : [" within ", of(durationWords(count.within))];
    tests.push([...streams, " ", ...joined(numbers, " and "), ...within]);
  }
  if (first !== undefined) tests.push(["first seen in ", ...streams, " ", ...pastPieces(first)]);
  if (last !== undefined)
    tests.push([isRecent(last) ? "seen in " : "last seen in ", ...streams, " ", ...pastPieces(last)]);
  return tests.length === 0 ? ["seen in ", ...streams] : joined(tests, " and ");
}

const of = (value: string | number): Piece => ({ value: String(value) });
const listed = (values: readonly string[]) =>
  joined(
    values.map((value) => [of(value)]),
    " or ",
  );
const joined = (lists: readonly Piece[][], word: string) =>
  lists.flatMap((list, index) => (index === 0 ? list : [word, ...list]));
const timesOf = (times: number) => (times === 1 ? "1 time" : `${times} times`);

const PAST = /^now-(\d+[mhdw])$/;
const isRecent = ({ after, before }: InstantTests) => before === undefined && PAST.test(String(after));

/** Tests of an instant that was in the past: `within 30 days`, `more than 30 days ago`. */
function pastPieces({ after, before }: InstantTests): Piece[] {
  const tests: Piece[][] = [];
  const [since, until] = [PAST.exec(String(after))?.[1], PAST.exec(String(before))?.[1]];
  if (since !== undefined) tests.push(["within ", of(durationWords(since))]);
  else if (after !== undefined) tests.push(["after ", of(instantWords(after))]);
  if (until !== undefined) tests.push(["more than ", of(durationWords(until)), " ago"]);
  else if (before !== undefined) tests.push(["before ", of(instantWords(before))]);
  return joined(tests, " and ");
}

/** `now`, `30 days ago`, `7 days from now`; the text of another instant. */
function instantWords(instant: string | number): string {
  const [, sign, distance] = /^now([-+])(\d+[mhdw])$/.exec(String(instant)) ?? [];
  if (distance === undefined) return String(instant);
  return `${durationWords(distance)} ${sign === "-" ? "ago" : "from now"}`;
}
