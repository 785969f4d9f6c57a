export const healthSchema = {
  type: "object",
  required: ["alive"],
  properties: { alive: { const: true } },
} as const;

export const readinessSchema = {
  type: "object",
  required: ["ready", "degraded", "stores"],
  properties: {
    ready: { type: "boolean", description: "Whether every store that the service cannot work without is there." },
    degraded: { type: "boolean", description: "Whether something is not as it should be." },
    stores: {
      type: "array",
      items: {
        type: "object",
        required: ["name", "required", "state"],
        properties: {
          name: { type: "string" },
          required: { type: "boolean", description: "Whether the service is of no use without it." },
          state: { enum: ["up", "degraded", "down"] },
          note: { type: "string", description: "What is not as it should be." },
        },
      },
    },
  },
} as const;
