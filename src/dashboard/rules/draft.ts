import { bounds, testWords } from "./rule-words.js";

/** A rule as the builder draws it. Every text is as it was typed, so a draft can be incomplete. */
export type Draft = Group | Condition;

interface Part {
  /** Unique in the page, so that a field keeps the focus. */
  readonly key: number;
  readonly isNot: boolean;
}

export interface Group extends Part {
  readonly kind: "all" | "any";
  readonly parts: readonly Draft[];
}

export interface Condition extends Part {
  readonly kind: Kind;
  /** Name of the attribute, names of streams, field of the profile, or id of the segment. */
  readonly name: string;
  /** A field of the condition, such as `is` or `last.after`; empty without a test. */
  readonly test: string;
  readonly value: string;
  readonly within: string;
  readonly ignoresCase: boolean;
}

const instants = ["after", "before"];
const texts = ["contains", "starts_with", "ends_with"];

/** Kinds of conditions with their tests. A condition of the kind `JSON` has its JSON as value. */
export const kinds = {
  attribute: ["", "is", ...bounds, ...texts, ...instants],
  stream: ["", ...bounds.map((test) => `count.${test}`), "last.after", "last.before", "first.after", "first.before"],
  profile: instants,
  segment: [""],
  JSON: [""],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type Kind = keyof typeof kinds;
export type NamedKind = Exclude<Kind, "profile" | "JSON">;

/** `at least`, `last after`; without a test `exists` or `seen`. */
export function testLabel(test: string, kind: Kind): string {
  const words: Readonly<Record<string, string>> = {
    ...testWords,
    "": kind === "stream" ? "seen" : "exists",
    count: "",
  };
  const label = test.split(".").map((field) => words[field] ?? field);
  return label.join(" ").trim();
}

const operandOf = (test: string) => test.slice(test.indexOf(".") + 1);
export const isInstant = (test: string) => instants.includes(operandOf(test));
export const isText = (test: string) => test === "is" || texts.includes(test);

let lastKey = 0;
const newPart = () => {
  lastKey += 1;
  return { key: lastKey, isNot: false };
};

export function newCondition(kind: Kind = "attribute"): Condition {
  const name = kind === "profile" ? "seen_at" : "";
  const test = kind === "profile" ? "after" : kind === "attribute" ? "is" : "";
  return { ...newPart(), kind, name, test, value: "", within: "", ignoresCase: false };
}

export const newGroup = (kind: Group["kind"], parts: readonly Draft[]): Group => ({ ...newPart(), kind, parts });

/** Returns the group that draws a rule; one condition becomes a group of it. */
export function groupOf(rule: unknown): Group {
  const draft = draftOf(rule);
  return "parts" in draft ? draft : newGroup("all", [draft]);
}

/** Draws each node so that `ruleOf` returns it unchanged. A node for which that is impossible is drawn as JSON. */
function draftOf(rule: unknown): Draft {
  const draft = typeof rule === "object" && rule !== null ? nodeOf(rule as Fields) : undefined;
  if (draft !== undefined && JSON.stringify(ruleOf(draft)) === JSON.stringify(rule)) return draft;
  return { ...newCondition("JSON"), value: JSON.stringify(rule) };
}

type Fields = Readonly<Record<string, unknown>>;

function nodeOf(rule: Fields): Draft | undefined {
  const { all, any, not } = rule;
  if (not !== undefined) {
    const draft = draftOf(not);
    return draft.isNot ? undefined : { ...draft, isNot: true };
  }
  if (Array.isArray(all)) return newGroup("all", all.map(draftOf));
  if (Array.isArray(any)) return newGroup("any", any.map(draftOf));
  const kind = (["attribute", "stream", "profile", "segment"] as const).find((name) => name in rule);
  return kind && conditionOf(kind, rule);
}

function conditionOf(kind: Kind, { [kind]: name, ignore_case, ...tests }: Fields): Condition {
  const [[field, operand] = ["", ""]] = Object.entries(tests);
  const isFact = typeof operand === "object" && operand !== null && !Array.isArray(operand);
  const { within = "", ...inner } = isFact ? (operand as Fields) : {};
  const [test, value] = isFact ? [`${field}.${Object.keys(inner)[0]}`, Object.values(inner)[0]] : [field, operand];
  return {
    ...newPart(),
    kind,
    name: Array.isArray(name) ? name.join(", ") : String(name),
    test,
    value: test === "is" ? [value].flat().map(valueText).join(", ") : String(value),
    within: String(within),
    ignoresCase: ignore_case === true,
  };
}

/** Returns the rule of a draft; undefined while it is incomplete. */
export function ruleOf(draft: Draft): unknown {
  const node = "parts" in draft ? groupNode(draft) : conditionNode(draft);
  return node !== undefined && draft.isNot ? { not: node } : node;
}

function groupNode({ kind, parts }: Group): unknown {
  const nodes = parts.map(ruleOf);
  return nodes.length === 0 || nodes.includes(undefined) ? undefined : { [kind]: nodes };
}

function conditionNode({ kind, name, test, value, within, ignoresCase }: Condition): unknown {
  if (kind === "JSON") return parsedJson(value);
  const subject = kind === "stream" ? oneOrList(name.split(/\s*,\s*/)) : name;
  const operand = test === "" ? "" : operandFrom(test, value);
  if (name === "" || operand === undefined) return undefined;
  if (test === "") return { [kind]: subject };
  const [field, inner] = test.split(".") as [string, string?];
  if (inner === undefined) return { [kind]: subject, [test]: operand, ...(ignoresCase ? { ignore_case: true } : {}) };
  return { [kind]: subject, [field]: { [inner]: operand, ...(within === "" ? {} : { within }) } };
}

/** Returns undefined for JSON that is incomplete. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function operandFrom(test: string, text: string): unknown {
  if (test === "is") return valuesOf(text);
  if (!bounds.some((bound) => bound === operandOf(test))) return text === "" ? undefined : text;
  return text.trim() === "" || !Number.isFinite(Number(text)) ? undefined : Number(text);
}

/** Returns the texts between commas, with their blanks; a comma in quotes is part of its text. */
export const partsOf = (text: string): string[] => text.match(/\s*"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];

/** Returns the texts without their blanks, and no empty one. */
export const trimmed = (parts: readonly string[]): string[] =>
  parts.map((part) => part.trim()).filter((part) => part !== "");

/** Reads values between commas: a number, true and false as such, anything else and what is in quotes as text. */
function valuesOf(text: string): unknown {
  const values = trimmed(partsOf(text));
  return values.length === 0 ? undefined : oneOrList(values.map(typedValue));
}

function typedValue(text: string): unknown {
  const value = parsedJson(text);
  return ["string", "boolean"].includes(typeof value) || Number.isFinite(value) ? value : text;
}

/** Writes a text in quotes if it would be read as something else. */
function valueText(value: unknown): string {
  const text = String(value);
  return typeof value !== "string" || valuesOf(text) === value ? text : JSON.stringify(value);
}

const oneOrList = (list: readonly unknown[]) => (list.length === 1 ? list[0] : list);
