import { answerSchema, errorSchema } from "../schemas/envelope.js";
import { healthSchema, readinessSchema } from "../schemas/operations.js";
import { json, type Operations } from "./operation.js";

const text = { type: "string" };
const html = { "text/html": text };

export const operationsOperations: Operations = {
  "GET /health": {
    id: "checkHealth",
    tag: "operations",
    summary: "Whether the service is alive",
    description: "Reads no store.",
    answer: json(answerSchema("HealthAnswer", healthSchema)),
  },
  "GET /ready": {
    id: "checkReadiness",
    tag: "operations",
    summary: "Whether the stores are there",
    description: "Each store by name.",
    answer: json(answerSchema("ReadinessAnswer", readinessSchema)),
    others: {
      503: {
        description: "One that the service cannot work without is away.",
        schema: {
          ...errorSchema,
          title: "NotReady",
          properties: { ...errorSchema.properties, data: readinessSchema },
        },
      },
    },
  },
  "GET /metrics": {
    id: "readServiceMetrics",
    tag: "operations",
    summary: "How the service is doing",
    answer: { "text/plain": { type: "string", description: "Prometheus text." } },
  },
  "GET /openapi.json": {
    id: "readOpenApiDocument",
    tag: "operations",
    summary: "This document",
    description: "OpenAPI 3.1, for tools.",
    answer: json({ type: "object", additionalProperties: { description: "A part of the document." } }),
  },
  "GET /": {
    id: "showHomePage",
    tag: "operations",
    summary: "What this is, for people",
    description: "A page.",
    answer: html,
  },
  "GET /docs": {
    id: "showDocsPage",
    tag: "operations",
    summary: "Every route, for people",
    description: "A page.",
    answer: html,
  },
  "GET /docs/:file": {
    id: "readDocsFile",
    tag: "operations",
    summary: "What the pages are made of",
    description: "Styles, scripts and images.",
    path: { file: { schema: { type: "string", minLength: 1 }, example: "docs.css" } },
    answer: { "text/css": text, "text/javascript": text, "image/png": { type: "string", format: "binary" } },
  },
};
