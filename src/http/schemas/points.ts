import { dimensionNames, dimensions } from "../../metrics/dimensions/index.js";

/** The fast form of a write, as far as its schema is checked before it is read. */
export interface PointBlock {
  readonly series: readonly unknown[];
  readonly ts: readonly unknown[];
  readonly values: readonly unknown[];
}

const seriesProperties = {
  dimension: { title: "Dimension", type: "string", enum: dimensionNames },
  dimension_id: {
    type: "string",
    minLength: 1,
    maxLength: 256,
    description: "No control characters, not ending in a backslash.",
  },
  dimension_type: {
    type: "string",
    enum: [...new Set(dimensions.flatMap(({ storedTypes }) => storedTypes))],
  },
} as const;

const moment = {
  title: "PointTime",
  description: "Unix milliseconds; moved down to the start of its slot.",
  oneOf: [{ type: "integer" }, { type: "string", pattern: "^[0-9]{1,16}$" }],
} as const;

export const pointSchema = {
  title: "Point",
  type: "object",
  description: "The value of one series in one slot.",
  required: ["dimension", "dimension_id", "dimension_type", "value", "ts"],
  additionalProperties: false,
  properties: { ...seriesProperties, value: { type: "number" }, ts: moment },
} as const;

export const pointBlockSchema = {
  title: "PointBlock",
  type: "object",
  description: "The fast form: one list of values for each series, one number or null in it for each ts.",
  required: ["series", "ts", "values"],
  additionalProperties: false,
  properties: {
    series: {
      type: "array",
      minItems: 1,
      items: {
        title: "Series",
        type: "object",
        required: Object.keys(seriesProperties),
        additionalProperties: false,
        properties: seriesProperties,
      },
    },
    ts: { type: "array", minItems: 1, items: moment },
    values: { type: "array", minItems: 1, items: { type: "array", items: { type: ["number", "null"] } } },
  },
} as const;

/** The block without its lists' items: these are checked where they are read, at a hundred times the speed. */
export const pointBlockShape = {
  type: "object",
  required: ["series", "ts", "values"],
  additionalProperties: false,
  properties: { series: { type: "array", minItems: 1 }, ts: { type: "array", minItems: 1 }, values: { type: "array" } },
} as const;

export const pointsBodySchema = {
  oneOf: [{ type: "array", minItems: 1, items: pointSchema }, pointBlockSchema],
} as const;

/** `data` of the response to a write. */
export const pointTallySchema = {
  title: "PointTally",
  type: "object",
  required: ["point_count"],
  properties: { point_count: { type: "integer", minimum: 1, description: "Points written." } },
} as const;
