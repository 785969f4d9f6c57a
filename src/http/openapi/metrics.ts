import { precisions } from "../../formats/metric-line.js";
import { answerSchema } from "../schemas/envelope.js";
import {
  metricAnswerSchema,
  metricBatchAnswerSchema,
  metricRequestProperties,
  metricRequestSchema,
} from "../schemas/metric.js";
import { pointsBodySchema, pointTallySchema } from "../schemas/points.js";
import { exampleSeries, lineExamples, metricExamples, pointExamples, pointLinesExamples } from "./examples.js";
import { described, json, type Operations, type Parameter, withoutNull } from "./operation.js";

/** What says which series is meant. Older names can stand for the first two, so the check of a request requires none. */
const { dimension, dimension_id, dimension_type, ...optional } = metricRequestProperties;
const which = { dimension, dimension_id, dimension_type };
const required = Object.keys(which);

const query: Readonly<Record<string, Parameter>> = {
  ...Object.fromEntries(
    Object.entries(described(which)).map(([name, parameter]) => [
      name,
      { ...parameter, required: true, example: exampleSeries[name] as string },
    ]),
  ),
  ...described(optional),
};

/** A client that leaves a field out needs no null, and generated clients are simpler without. */
const seriesRequest = {
  ...metricRequestSchema,
  required,
  properties: Object.fromEntries(
    Object.entries(metricRequestProperties).map(([name, schema]) => [name, withoutNull(schema)]),
  ),
};

const requests = { oneOf: [seriesRequest, { type: "array", minItems: 1, maxItems: 100, items: seriesRequest }] };

const lineText = { type: "string", minLength: 1, description: "A point in line protocol on each line." };

/** The operations on metrics; the examples write to the hour that begins at `hour` (Unix ms). */
export function metricOperations(hour: number): Operations {
  return {
    "GET /api/metric": {
      id: "fetchMetric",
      tag: "metrics",
      summary: "Fetch one series",
      description: "`dimension`, `dimension_id` and `dimension_type` say which; all others are optional.",
      query,
      headers: {
        "If-None-Match": { schema: { type: "string" }, description: "An ETag: 304 while nothing has changed." },
      },
      answer: json(metricAnswerSchema),
      others: { 304: { description: "Nothing has changed since the answer of `If-None-Match`." } },
    },
    "POST /api/metric": {
      id: "fetchMetrics",
      tag: "metrics",
      summary: "Fetch one series or many",
      description:
        "An object, or an array of up to 100. Answers come in the order of the requests; an item that is wrong comes back in its place with `errors`.",
      body: { "application/json": { schema: requests, examples: metricExamples } },
      answer: json(metricBatchAnswerSchema),
    },
    "POST /api/metric/points": {
      id: "writePoints",
      tag: "metrics",
      summary: "Write points",
      description:
        "All or nothing; errors name positions. A success is durable and visible. Repeating it changes nothing.",
      body: {
        "application/json": { schema: pointsBodySchema, examples: pointExamples(hour) },
        "application/x-ndjson": {
          schema: { type: "string", description: "A point in JSON on each line." },
          examples: pointLinesExamples(hour),
        },
      },
      answer: json(answerSchema("PointsAnswer", pointTallySchema)),
    },
    "GET /ping": {
      id: "pingLineProtocol",
      tag: "metrics",
      summary: "Whether line protocol is taken here",
      description:
        "What clients of InfluxDB ask before they write. The header `X-Influxdb-Version` names this service and its version.",
    },
    "POST /api/v2/write": {
      id: "writeLineProtocol",
      tag: "metrics",
      summary: "Write points in line protocol",
      description:
        "As InfluxDB 2 takes it: measurement = dimension, tags `dimension_id` and `dimension_type` (size when absent), field `value`. " +
        "Plain or gzip. All or nothing; the message of an error names the first bad line and what is wrong with it. " +
        "`application/x-www-form-urlencoded`, which `curl --data-binary` says unless told, is taken as plain text too.",
      query: {
        precision: {
          schema: { type: "string", enum: precisions, default: "ns" },
          description: "Unit of the timestamps.",
        },
        ...Object.fromEntries(
          ["org", "orgID", "bucket", "consistency"].map((name) => [
            name,
            { schema: { type: "string" }, description: "Ignored." },
          ]),
        ),
      },
      body: {
        "text/plain": { schema: lineText, examples: lineExamples },
        "application/octet-stream": { schema: { ...lineText, format: "binary" }, examples: lineExamples },
      },
    },
  };
}
