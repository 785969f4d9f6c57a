import { Type } from "@sinclair/typebox";
import { rowValue } from "../core/list-page.js";

const idRule = "1 to 256 characters, without control characters, not ending in a backslash.";
const idShape = { minLength: 1, maxLength: 256, pattern: "^[^\\p{Cc}\\p{Cs}]*[^\\p{Cc}\\p{Cs}\\\\]$" };

/** What an id of the catalogue must be. */
export const Id = Type.String({ ...idShape, description: idRule });

/** The id in a path, for documentation: what is not an id is not found. */
export const idIn = (example: string) => Type.String({ ...idShape, description: idRule, examples: [example] });

/** The id in the path of what is put into the catalogue. */
export const newIdIn = (example: string) =>
  Type.String({ ...idShape, description: idRule, examples: [example], issue: { code: "bad_id", message: idRule } });

const idOf = (what: string) => Type.String({ ...idShape, description: what });

const Name = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: "^[^\\p{Cc}\\p{Cs}]*$",
  description: "1 to 256 characters, without control characters. The id when it is absent.",
});

export const SegmentInput = Type.Object(
  {
    name: Type.Optional(Name),
    table: Type.Optional(
      Type.String({ description: "The table whose entities are its members; `user` when it is absent." }),
    ),
  },
  { title: "SegmentInput", description: "A segment of the catalogue.", additionalProperties: false },
);

export const ExperienceInput = Type.Object(
  {
    name: Type.Optional(Name),
    group: Type.Optional(idOf("Id of the experience group that it belongs to.")),
    audience: idOf("Id of the segment that can be reached."),
    goal: idOf("Id of the segment of the people who converted."),
  },
  {
    title: "ExperienceInput",
    description: "An experience: who could see it, and who did what it is for.",
    additionalProperties: false,
  },
);

const Size = Type.Integer({ minimum: 0, description: "Members now." });

export const Segment = Type.Object({ id: Id, name: Name, table: Type.String(), size: Size }, { title: "Segment" });

const savedSize = (which: string) => rowValue(`The ${which}; null where none is saved. With \`range\` alone.`);

/** A row of the list of segments. */
export const ListedSegment = Type.Object(
  { ...Segment.properties, now: savedSize("newest saved size"), before: savedSize("size saved one range earlier") },
  { title: "ListedSegment" },
);

export const SegmentSize = Type.Object({ id: Id, name: Name, size: Size }, { title: "SegmentSize" });

export const Experience = Type.Object(
  {
    id: Id,
    name: Name,
    group: Type.Unsafe<string | null>({ type: ["string", "null"] }),
    audience: Id,
    goal: Id,
  },
  { title: "Experience" },
);

const savedRate = (which: string) => rowValue(`The ${which}; null where there is none. With \`range\` alone.`);

/** A row of the list of experiences. */
export const ListedExperience = Type.Object(
  {
    ...Experience.properties,
    now: savedRate("newest conversion rate"),
    before: savedRate("conversion rate one range earlier"),
  },
  { title: "ListedExperience" },
);

/** `data` of the response to a DELETE. */
export const Removed = Type.Object({ id: Id }, { title: "Removed" });
