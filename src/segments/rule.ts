import { type Static, Type } from "@sinclair/typebox";
import { durationRule, parseDuration } from "../formats/duration.js";
import { streamNamePattern, streamNameRule } from "../reserved-names.js";
import { parseRuleInstant, ruleInstantRule } from "./rule-instant.js";

/** Condition about one profile, in the normal form of `parseRule`: equal rules are equal as JSON text. */
export type Rule = All<Rule> | AnyOf<Rule> | Not<Rule> | Leaf;

export type Leaf = AttributeLeaf | StreamLeaf | ProfileLeaf | SegmentLeaf;

export interface All<Part> {
  readonly all: readonly Part[];
}

export interface AnyOf<Part> {
  readonly any: readonly Part[];
}

export interface Not<Part> {
  readonly not: Part;
}

const strict = { additionalProperties: false };

const nodes = Type.Array(Type.Unknown(), { minItems: 1, maxItems: 50 });

type Scalar = string | number | boolean;
const scalar = ["string", "number", "boolean"];

const Bound = Type.Optional(Type.Number());
const bounds = { at_least: Bound, above: Bound, at_most: Bound, below: Bound };
const needsBound = "needs at_least, above, at_most or below";

const Text = Type.Optional(Type.String());

const Instant = Type.Optional(
  Type.Unsafe<string | number>({
    type: ["string", "number"],
    readableBy: parseRuleInstant,
    words: `must be ${ruleInstantRule}`,
  }),
);
const instants = { after: Instant, before: Instant };
const needsInstant = "needs after or before";
const Instants = Type.Object(instants, { ...strict, minProperties: 1, words: needsInstant });

const wholeRule = "must be a whole number from 0 to 100 with within";
const whole = { type: "number", minimum: 0, maximum: 100, multipleOf: 1, words: wholeRule };
const Count = Type.Object(
  {
    ...bounds,
    within: Type.Optional(Type.String({ readableBy: parseDuration, words: `must be ${durationRule}` })),
  },
  {
    ...strict,
    minProperties: 1,
    words: needsBound,
    dependentSchemas: {
      within: {
        type: "object",
        minProperties: 2,
        words: needsBound,
        properties: { at_least: whole, above: whole, at_most: whole, below: whole },
      },
    },
  },
);

const nameLength = { minLength: 1, maxLength: 256 };
const attributeRule = "must be a name of 1 to 256 characters, or a list of names, and not segments";
const notSegments = { pattern: "^(?!segments$)", words: attributeRule };
const AttributeLeaf = Type.Object(
  {
    attribute: Type.Unsafe<string | string[]>({
      type: ["string", "array"],
      ...nameLength,
      ...notSegments,
      minItems: 1,
      maxItems: 16,
      prefixItems: [{ type: "string", ...nameLength, ...notSegments }],
      items: { type: "string", ...nameLength },
    }),
    is: Type.Optional(
      Type.Unsafe<Scalar | Scalar[]>({
        type: [...scalar, "array"],
        minItems: 1,
        maxItems: 1_000,
        items: { type: scalar },
      }),
    ),
    ...bounds,
    contains: Text,
    starts_with: Text,
    ends_with: Text,
    ignore_case: Type.Optional(Type.Literal(true, { words: "must be true" })),
    ...instants,
  },
  strict,
);

const streamName = { pattern: streamNamePattern, words: `has a wrong name. ${streamNameRule}` };
const StreamLeaf = Type.Object(
  {
    stream: Type.Unsafe<string | string[]>({
      type: ["string", "array"],
      ...streamName,
      minItems: 1,
      maxItems: 50,
      items: { type: "string", ...streamName },
    }),
    count: Type.Optional(Count),
    first: Type.Optional(Instants),
    last: Type.Optional(Instants),
  },
  strict,
);

const profileTimes = ["created_at", "seen_at"] as const;
const ProfileLeaf = Type.Object(
  {
    profile: Type.Unsafe<(typeof profileTimes)[number]>({
      type: "string",
      enum: profileTimes,
      words: `must be ${profileTimes.join(" or ")}`,
    }),
    ...instants,
  },
  { ...strict, minProperties: 2, words: needsInstant },
);

const SegmentLeaf = Type.Object({ segment: Type.String({ minLength: 1, maxLength: 256 }) }, strict);

export type Bounds = Omit<CountTests, "within">;
export type InstantTests = Static<typeof Instants>;
export type CountTests = Static<typeof Count>;
export type AttributeLeaf = Static<typeof AttributeLeaf>;
export type StreamLeaf = Static<typeof StreamLeaf>;
export type ProfileLeaf = Static<typeof ProfileLeaf>;
export type SegmentLeaf = Static<typeof SegmentLeaf>;

/**
 * Shape of each node by the field that it must have. Nodes in a node are checked one by one. `readableBy` is a function
 * that returns undefined for an invalid value; `words` is the message for a violation, after the name of the field.
 */
export const shapes = {
  all: Type.Object({ all: nodes }, strict),
  any: Type.Object({ any: nodes }, strict),
  not: Type.Object({ not: Type.Unknown() }, strict),
  attribute: AttributeLeaf,
  stream: StreamLeaf,
  profile: ProfileLeaf,
  segment: SegmentLeaf,
} as const;

/** Yields the leaves of a rule, with their paths in errors. */
export function* leavesOf(rule: Rule, path = "rule"): Generator<{ readonly leaf: Leaf; readonly path: string }> {
  if ("not" in rule) yield* leavesOf(rule.not, `${path}.not`);
  else if ("all" in rule) for (const [i, part] of rule.all.entries()) yield* leavesOf(part, `${path}.all[${i}]`);
  else if ("any" in rule) for (const [i, part] of rule.any.entries()) yield* leavesOf(part, `${path}.any[${i}]`);
  else yield { leaf: rule, path };
}
