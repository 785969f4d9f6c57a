/** One thing that is wrong. */
const problemSchema = {
  type: "object",
  required: ["code", "path", "message"],
  additionalProperties: false,
  properties: {
    code: { type: "string", description: "What is wrong, for programs." },
    path: {
      type: "string",
      description: "Where: a position, or the name of a field or parameter. Never what was sent.",
    },
    message: { type: "string", description: "What is wrong, for people." },
  },
} as const;

/** The body of every answer that is not a success. */
export const errorSchema = {
  type: "object",
  required: ["status", "message", "data", "errors"],
  properties: {
    status: { type: "integer", minimum: 400, maximum: 599, description: "Repeats the HTTP status." },
    message: { type: "string" },
    data: { type: "null" },
    errors: { type: "array", minItems: 1, items: problemSchema },
  },
} as const;

/** The success envelope around `data`. */
export function answerSchema(
  data: object,
  options: { readonly meta?: object; readonly message?: string } = {},
): object {
  const { meta, message } = options;
  return {
    type: "object",
    required: ["status", "message", "data", ...(meta === undefined ? [] : ["meta"])],
    properties: {
      status: { type: "integer", description: "Repeats the HTTP status." },
      message: message === undefined ? { type: "string" } : { const: message },
      data,
      ...(meta === undefined ? {} : { meta }),
    },
  };
}
