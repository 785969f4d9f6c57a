import { type Static, Type } from "@sinclair/typebox";
import { dimensionNames, dimensions } from "../../metrics/dimensions.js";
import { oneOf } from "../responses.js";

const series = {
  dimension: oneOf(dimensionNames, { title: "Dimension" }),
  dimension_id: Type.String({
    minLength: 1,
    maxLength: 256,
    description: "No control characters, not ending in a backslash.",
  }),
  dimension_type: oneOf([...new Set(dimensions.flatMap(({ storedTypes }) => storedTypes))]),
};

const PointTime = Type.Unsafe<number | string>({
  title: "PointTime",
  description: "Unix milliseconds; moved down to the start of its slot.",
  oneOf: [Type.Integer(), Type.String({ pattern: "^[0-9]{1,16}$" })],
});

export const Point = Type.Object(
  { ...series, value: Type.Number(), ts: PointTime },
  { title: "Point", description: "The value of one series in one slot.", additionalProperties: false },
);

export const Block = Type.Object(
  {
    series: Type.Array(Type.Object(series, { title: "Series", additionalProperties: false }), { minItems: 1 }),
    ts: Type.Array(PointTime, { minItems: 1 }),
    values: Type.Array(Type.Array(Type.Unsafe<number | null>({ type: ["number", "null"] })), { minItems: 1 }),
  },
  {
    title: "PointBlock",
    description: "The fast form: one list of values for each series, one number or null in it for each ts.",
    additionalProperties: false,
  },
);

/** A body of type `application/json`, for the document. */
export const PointsBody = Type.Unsafe<unknown>({ oneOf: [Type.Array(Point, { minItems: 1 }), Block] });

/** The block without its lists' items: these are checked where they are read, at a hundred times the speed. */
export const PointBlock = Type.Object(
  {
    series: Type.Array(Type.Unknown(), { minItems: 1 }),
    ts: Type.Array(Type.Unknown(), { minItems: 1 }),
    values: Type.Array(Type.Unknown()),
  },
  { additionalProperties: false },
);

export type PointBlock = Static<typeof PointBlock>;

/** `data` of the response to a write. */
export const PointTally = Type.Object(
  { point_count: Type.Integer({ minimum: 1, description: "Points written." }) },
  { title: "PointTally" },
);
