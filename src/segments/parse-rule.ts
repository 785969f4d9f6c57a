import type { TSchema } from "@sinclair/typebox";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { invalid, type ServiceError } from "../errors.js";
import { emailForm, hasAtMostBytes, knownNames } from "../text.js";
import { type AttributeLeaf, type Leaf, type Rule, shapes } from "./rule.js";

/** Identity field of the table of a rule. */
interface IdentityForm {
  readonly name: string;
  readonly normalForm: "text" | "email";
}

const MAX_LEAVES = 50;
/** A leaf counts. */
const MAX_DEPTH = 8;
const MAX_RULE_BYTES = 65_536;
/** No identity is longer. */
const MAX_DOMAIN_BYTES = 1_024;

/**
 * Returns the rule in its normal form: equal rules are equal as JSON text. Throws `invalid` with one issue, whose path
 * begins with `rule`. Whether segments exist, and the limits of all rules together, are not checked.
 */
export function parseRule(json: unknown, identities: readonly IdentityForm[]): Rule {
  let leaves = 0;
  const parse = (node: unknown, path: string, depth: number): Rule => {
    if (depth > MAX_DEPTH) throw invalid("rule_too_large", path, `A rule is nested at most ${MAX_DEPTH} deep`);
    const shaped = shapedNode(node, path);
    if ("all" in shaped) return { all: shaped.all.map((part, i) => parse(part, `${path}.all[${i}]`, depth + 1)) };
    if ("any" in shaped) return { any: shaped.any.map((part, i) => parse(part, `${path}.any[${i}]`, depth + 1)) };
    if ("not" in shaped) return { not: parse(shaped.not, `${path}.not`, depth + 1) };
    leaves += 1;
    if (leaves > MAX_LEAVES) throw invalid("rule_too_large", path, `A rule has at most ${MAX_LEAVES} conditions`);
    return parseLeaf(shaped, path, identities);
  };
  const rule = parse(json, "rule", 1);
  // The checked nesting bounds the recursion of `stringify`.
  if (!hasAtMostBytes(MAX_RULE_BYTES, JSON.stringify(json))) {
    throw invalid("rule_too_large", "rule", `A rule has at most ${MAX_RULE_BYTES} bytes as JSON without blanks`);
  }
  return rule;
}

type ShapedNode = { all: unknown[] } | { any: unknown[] } | { not: unknown } | Leaf;

const kinds = Object.keys(shapes) as (keyof typeof shapes)[];
const ajv = new Ajv2020({ allowUnionTypes: true, strictTuples: false, verbose: true })
  .addVocabulary(["words"])
  .addKeyword({
    keyword: "readableBy",
    validate: (read: (value: unknown) => unknown, value: unknown) => read(value) !== undefined,
  });
const hasShape = Object.fromEntries(kinds.map((kind) => [kind, ajv.compile(shapes[kind])]));

/** Checks the shape of a node, without the nodes in it. */
function shapedNode(node: unknown, path: string): ShapedNode {
  if (typeof node !== "object" || node === null || Array.isArray(node)) {
    throw invalid("not_an_object", path, "A condition is a JSON object");
  }
  const [kind, second] = kinds.filter((name) => Object.hasOwn(node, name));
  if (kind === undefined || second !== undefined) {
    throw invalid("invalid_value", path, `A condition has one of the fields ${kinds.join(", ")}`);
  }
  const check = hasShape[kind];
  if (check?.(node) !== true) throw shapeError(check?.errors?.[0] as ErrorObject, path);
  return inOrder(node, shapes[kind].properties) as unknown as ShapedNode;
}

function shapeError({ keyword, instancePath, params, parentSchema, message }: ErrorObject, node: string): ServiceError {
  const path = node + instancePath.replaceAll(/\/(\d+)/g, "[$1]").replaceAll("/", ".");
  const field = path.slice(path.lastIndexOf(".") + 1);
  if (keyword === "additionalProperties") {
    const known = Object.keys(parentSchema?.properties);
    return invalid("unknown_field", path, `Unknown field; ${knownNames(params.additionalProperty, known)}`);
  }
  if (keyword === "maxItems") return invalid("rule_too_large", path, `${field} has at most ${params.limit} elements`);
  if (keyword === "type") return invalid("invalid_type", path, `${field} must be ${[params.type].flat().join(" or ")}`);
  const words = parentSchema?.words ?? (keyword === "minItems" ? "has at least one element" : message);
  return invalid("invalid_value", path, `${field} ${words}`);
}

/** Returns the object with its fields in the order of a shape, so that equal rules are equal as JSON text. */
function inOrder(object: object, properties: Readonly<Record<string, TSchema>>): object {
  const names = Object.keys(properties).filter((name) => Object.hasOwn(object, name));
  const fields = names.map((name) => {
    const value = (object as Readonly<Record<string, object>>)[name] as object;
    return [name, properties[name]?.properties === undefined ? value : inOrder(value, properties[name].properties)];
  });
  return Object.fromEntries(fields);
}

function parseLeaf(leaf: Leaf, path: string, identities: readonly IdentityForm[]): Leaf {
  if ("attribute" in leaf) return parseAttribute(leaf, path, identities);
  return "stream" in leaf ? { ...leaf, stream: oneOrList([...new Set([leaf.stream].flat())]) } : leaf;
}

function parseAttribute(leaf: AttributeLeaf, path: string, identities: readonly IdentityForm[]): AttributeLeaf {
  const { attribute, is, contains, starts_with, ends_with, ignore_case } = leaf;
  if (ignore_case && (is ?? contains ?? starts_with ?? ends_with) === undefined) {
    const rule = "ignore_case needs is, contains, starts_with or ends_with";
    throw invalid("invalid_value", `${path}.ignore_case`, rule);
  }
  const one: AttributeLeaf = { ...leaf, attribute: oneOrList([attribute].flat()) };
  if (is !== undefined) one.is = oneOrList([is].flat());
  const identity = identities.find(({ name }) => name === [attribute].flat()[0]);
  return identity === undefined ? one : checkIdentity(one, path, identity);
}

/** A list of people in a rule would be personal data that no deletion finds. */
function checkIdentity(leaf: AttributeLeaf, path: string, { name, normalForm }: IdentityForm): AttributeLeaf {
  const { attribute, ends_with, ignore_case: _, ...others } = leaf;
  const isEmail = normalForm === "email";
  const domain = ends_with !== undefined && hasAtMostBytes(MAX_DOMAIN_BYTES, ends_with) ? emailForm(ends_with) : "";
  const isTestable = ends_with === undefined || (isEmail && domain.startsWith("@"));
  const [otherTest = isTestable ? undefined : "ends_with"] = Object.keys(others);
  const wrong = attribute === name ? otherTest : "attribute";
  if (wrong !== undefined) {
    const allowed = isEmail ? "only for existence, or by ends_with a text that begins with @" : "only for existence";
    throw invalid("identity_in_rule", `${path}.${wrong}`, `The identity field ${name} can be tested ${allowed}`);
  }
  return ends_with === undefined ? leaf : { ...leaf, ends_with: domain };
}

function oneOrList<T>(list: readonly T[]): T | T[] {
  return list.length === 1 ? (list[0] as T) : [...list];
}
