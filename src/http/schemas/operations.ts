export const healthSchema = {
  title: "Health",
  type: "object",
  required: ["alive"],
  properties: { alive: { type: "boolean", const: true } },
} as const;

export const readinessSchema = {
  title: "Readiness",
  type: "object",
  required: ["ready", "degraded", "stores"],
  properties: {
    ready: { type: "boolean", description: "Whether every store that the service cannot work without is there." },
    degraded: { type: "boolean", description: "Whether something is not as it should be." },
    stores: {
      type: "array",
      items: {
        title: "StoreState",
        type: "object",
        required: ["name", "required", "state"],
        properties: {
          name: { type: "string" },
          required: { type: "boolean", description: "Whether the service is of no use without it." },
          state: { type: "string", enum: ["up", "degraded", "down"] },
          note: { type: "string", description: "What is not as it should be." },
        },
      },
    },
  },
} as const;
