import { answerSchema, errorSchema } from "../schemas/envelope.js";
import { healthSchema, readinessSchema } from "../schemas/operations.js";
import { json, type Operations } from "./operation.js";

const html = { "text/html": { type: "string" } };

export const operationsOperations: Operations = {
  "GET /health": {
    tag: "operations",
    summary: "Whether the service is alive",
    answer: json(answerSchema(healthSchema)),
  },
  "GET /ready": {
    tag: "operations",
    summary: "Whether the stores are there",
    answer: json(answerSchema(readinessSchema)),
    others: {
      503: {
        description: "One that the service cannot work without is away.",
        schema: { ...errorSchema, properties: { ...errorSchema.properties, data: readinessSchema } },
      },
    },
  },
  "GET /metrics": {
    tag: "operations",
    summary: "How the service is doing",
    answer: { "text/plain": { type: "string", description: "Prometheus text." } },
  },
  "GET /openapi.json": { tag: "operations", summary: "This document", answer: json({ type: "object" }) },
  "GET /": { tag: "operations", summary: "What this is, for people", answer: html },
  "GET /docs": { tag: "operations", summary: "Every route, for people", answer: html },
  "GET /docs/:file": {
    tag: "operations",
    summary: "What the pages are made of",
    path: { file: { schema: { type: "string" } } },
    answer: { "text/css": { type: "string" }, "text/javascript": { type: "string" }, "image/png": {} },
  },
};
