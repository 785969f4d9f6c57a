import { precisions } from "../line-points.js";
import { metricAnswerSchema, metricBodySchema, metricRequestProperties } from "../schemas/metric.js";
import { pointSchema, pointsAnswerSchema, pointsBodySchema } from "../schemas/points.js";
import { json, type Operations, type Parameter } from "./operation.js";

/** The same as in a body, but for null, which a query cannot say. */
const query = Object.fromEntries(
  Object.entries(metricRequestProperties).map(([name, schema]): [string, Parameter] => [name, parameterOf(schema)]),
);

function parameterOf(schema: {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
}): Parameter {
  const { type, enum: values, description = "", ...rest } = schema;
  const types = [type].flat().filter((name) => name !== "null" && name !== undefined);
  return {
    description,
    schema: {
      ...rest,
      ...(types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types }),
      ...(values === undefined ? {} : { enum: values.filter((value) => value !== null) }),
    },
  };
}

const lineText = { type: "string", examples: ["segment,dimension_id=hello value=42"] };

export const metricOperations: Operations = {
  "GET /api/metric": {
    tag: "metrics",
    summary: "Fetch one series",
    description: "`dimension`, `dimension_id` and `dimension_type` say which; all but these is optional.",
    query,
    headers: {
      "If-None-Match": { schema: { type: "string" }, description: "An ETag: 304 while nothing has changed." },
    },
    answer: json(metricAnswerSchema),
    others: { 304: { description: "Nothing has changed since the answer of `If-None-Match`." } },
  },
  "POST /api/metric": {
    tag: "metrics",
    summary: "Fetch one series or many",
    description:
      "An object, or an array of up to 100. Answers come in the order of the requests; an item that is wrong comes back in its place with `errors`.",
    body: json(metricBodySchema),
    answer: json(metricAnswerSchema),
  },
  "POST /api/metric/points": {
    tag: "metrics",
    summary: "Write points",
    description:
      "All or nothing; errors name positions. A success is durable and visible. Repeating it changes nothing.",
    body: {
      ...json(pointsBodySchema),
      "application/x-ndjson": { ...pointSchema, description: "One point on each line." },
    },
    answer: json(pointsAnswerSchema),
  },
  "GET /ping": {
    tag: "metrics",
    summary: "Whether line protocol is taken here",
    description:
      "What clients of InfluxDB ask before they write. The header `X-Influxdb-Version` names this service and its version.",
  },
  "POST /api/v2/write": {
    tag: "metrics",
    summary: "Write points in line protocol",
    description:
      "As InfluxDB 2 takes it: measurement = dimension, tags `dimension_id` and `dimension_type` (size when absent), field `value`. Plain or gzip. All or nothing; the message of an error names the first bad line and what is wrong with it.",
    query: {
      precision: { schema: { enum: precisions, default: "ns" }, description: "Unit of the timestamps." },
      org: { schema: { type: "string" }, description: "Ignored." },
      bucket: { schema: { type: "string" }, description: "Ignored." },
    },
    body: {
      "text/plain": lineText,
      "application/octet-stream": lineText,
      "application/x-www-form-urlencoded": {
        ...lineText,
        description: "Line protocol as it is, no form: what `curl --data-binary` calls its body.",
      },
    },
  },
};
