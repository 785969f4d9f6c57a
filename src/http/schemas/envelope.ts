/** One thing that is wrong. */
export const problemSchema = {
  title: "Problem",
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

/** The body of every response that is not a success. */
export const errorSchema = {
  title: "Error",
  type: "object",
  required: ["status", "message", "data", "errors"],
  properties: {
    status: { type: "integer", minimum: 400, maximum: 599, description: "Repeats the HTTP status." },
    message: { type: "string" },
    data: { type: ["string", "null"], const: null, description: "Always null." },
    errors: { type: "array", minItems: 1, items: problemSchema },
  },
} as const;

/** The success envelope of this name around `data`, with `meta` where there is one (always, unless `metaRequired` is false). */
export function answerSchema(
  title: string,
  data: object,
  options: { readonly meta?: object; readonly metaRequired?: boolean } = {},
): object {
  const { meta, metaRequired = meta !== undefined } = options;
  return {
    title,
    type: "object",
    required: ["status", "message", "data", ...(metaRequired ? ["meta"] : [])],
    properties: {
      status: { type: "integer", const: 200, description: "Repeats the HTTP status." },
      message: { type: "string" },
      data,
      ...(meta === undefined ? {} : { meta }),
    },
  };
}
