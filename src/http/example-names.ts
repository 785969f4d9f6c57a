/**
 * What the examples of the document are about. The names say that they are examples, because "Try it out" sends them to
 * real services.
 */
export const exampleNames = {
  stream: "example",
  table: "user",
  field: "email",
  value: "ann@example.com",
  defaultValue: "example-ann",
  audience: "example-readers",
  goal: "example-buyers",
  /** A segment that no experience names, so that it can be deleted. */
  spare: "example-spare",
  experience: "example-offer",
  group: "example-offers",
} as const;
