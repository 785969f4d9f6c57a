import { Type } from "@sinclair/typebox";
import { dimensionIdRule, idPattern } from "../../reserved-names.js";
import { orNull, Time } from "../core/responses.js";
import { rowSince, rowValue } from "../lists/trend-page.js";

const nameRule = "1 to 256 characters, without control characters";
const idShape = { minLength: 1, maxLength: 256, pattern: idPattern };

/** Id in the catalogue. */
export const Id = Type.String({ ...idShape, description: dimensionIdRule });

/** Id in a path, for documentation only: an invalid id is not found. */
export const idIn = (example: string) => Type.String({ ...idShape, description: dimensionIdRule, examples: [example] });

/** Id in the path of a PUT. */
export const newIdIn = (example: string) =>
  Type.String({
    ...idShape,
    description: dimensionIdRule,
    examples: [example],
    issue: { code: "invalid_id", message: `The id must be ${dimensionIdRule}` },
  });

const idOf = (field: string, what: string) =>
  Type.String({
    ...idShape,
    description: `${what}: ${dimensionIdRule}`,
    issue: { code: "invalid_value", message: `${field} must be an id: ${dimensionIdRule}` },
  });

const Name = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: "^[^\\p{Cc}\\p{Cs}]*$",
  description: `${nameRule}. Default: the id.`,
  issue: { code: "invalid_value", message: `name must be ${nameRule}` },
});

/** A rule as JSON; the handler checks it. */
export const Rule = Type.Unsafe<{ readonly [field: string]: unknown }>({
  type: "object",
  additionalProperties: Type.Unknown(),
  description:
    "A condition: an object with `all` or `any` (a list of conditions), `not` (a condition), `attribute`, `stream`, `profile` or `segment`, each with its tests.",
});

export const SegmentInput = Type.Object(
  {
    name: Type.Optional(Name),
    table: Type.Optional(Type.String({ description: "Table of its members. Default: `user`." })),
    rule: Type.Optional(Rule),
  },
  { title: "SegmentInput", description: "A segment of the catalogue.", additionalProperties: false },
);

export const ExperienceInput = Type.Object(
  {
    name: Type.Optional(Name),
    group: Type.Optional(idOf("group", "Id of its experience group")),
    audience: idOf("audience", "Id of the segment of people who can see it"),
    goal: idOf("goal", "Id of the segment of people who converted"),
  },
  {
    title: "ExperienceInput",
    description: "An experience: the segment that can see it and the segment that converted.",
    additionalProperties: false,
  },
);

const Size = Type.Integer({ minimum: 0, description: "Current number of members." });

const Computing = Type.Object(
  {
    done: Type.Integer({ minimum: 0, description: "Profiles that have been decided." }),
    of: Type.Integer({ minimum: 0, description: "Profiles of the table." }),
    since: Time("When the rule changed, or one that it depends on."),
  },
  {
    title: "Computing",
    description: "Progress of deciding every profile after a change of a rule; null when each one is decided.",
    additionalProperties: false,
  },
);

export const Segment = Type.Object(
  {
    id: Id,
    name: Name,
    table: Type.String(),
    size: Size,
    by_rule: Type.Boolean({ description: "Whether its rule decides who is in it; otherwise messages name it." }),
    computing: orNull(Computing),
    rule: Type.Optional(Rule),
  },
  { title: "Segment", additionalProperties: false },
);

const savedSize = (which: string) => rowValue(`The ${which}; null where none is saved. Only with a window.`);

/** A row in the list of segments. */
export const ListedSegment = Type.Object(
  {
    ...Segment.properties,
    now: savedSize("newest saved size, of the window's end"),
    before: savedSize("size saved one range earlier, or at the window's start"),
    since: rowSince,
  },
  { title: "ListedSegment", additionalProperties: false },
);

export const SegmentSize = Type.Object({ id: Id, name: Name, size: Size }, { title: "SegmentSize" });

export const Experience = Type.Object(
  {
    id: Id,
    name: Name,
    group: orNull(Type.String()),
    audience: Id,
    goal: Id,
  },
  { title: "Experience" },
);

const savedRate = (which: string) => rowValue(`The ${which}; null where there is none. Only with a window.`);

/** A row in the list of experiences. */
export const ListedExperience = Type.Object(
  {
    ...Experience.properties,
    now: savedRate("newest conversion rate, of the window's end"),
    before: savedRate("conversion rate one range earlier, or at the window's start"),
    since: rowSince,
  },
  { title: "ListedExperience" },
);

/** `data` of the response to a DELETE. */
export const Removed = Type.Object({ id: Id }, { title: "Removed" });
