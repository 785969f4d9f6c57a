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

const { field, value, defaultValue, audience, goal, spare, experience, group } = exampleNames;

const message = { _uid: defaultValue, [field]: value, plan: "trial", segments: [audience, goal, spare] };
const another = { [field]: "ben@example.com", plan: "paid", segments: [audience] };

/** Messages to collect. The others' examples build on the first. */
export const messageExamples = { one: message, several: [message, another] };
export const messageLinesExamples = { lines: lines([message, another]) };

export const segmentExamples = { segment: { name: "Readers (example)", table: "user" } };
export const experienceExamples = { experience: { name: "Offer (example)", group, audience, goal } };

const asked = { dimension: "segment", dimension_id: audience, dimension_type: "size" } as const;

/** The series that the metric examples are about. */
export const exampleSeries: Readonly<Record<string, string>> = asked;

export const metricExamples = {
  one: { ...asked, range: "2d", interval: "2h" },
  several: [
    asked,
    { dimension: "stream", dimension_id: exampleNames.stream, dimension_type: "size", range: "1d", interval: "1h" },
    {
      dimension: "experience",
      dimension_id: experience,
      dimension_type: "conversionrate",
      range: "4w",
      interval: "1d",
    },
  ],
};

/** Points to write. Stores may refuse old points, so they are of the hour that begins at `hour` (Unix ms). */
export function pointExamples(hour: number) {
  const point = { ...asked, value: 42, ts: hour };
  return {
    points: [point, { ...point, dimension_id: goal, value: 7 }],
    block: { series: [asked, { ...asked, dimension_id: goal }], ts: [hour], values: [[42], [7]] },
  };
}

export function pointLinesExamples(hour: number) {
  const { points } = pointExamples(hour);
  return { lines: lines(points) };
}

/** Line protocol without a time, which means now. */
export const lineExamples = {
  lines: `segment,dimension_id=${audience} value=42\nsegment,dimension_id=${goal} value=7`,
};

function lines(items: readonly object[]): string {
  return items.map((item) => JSON.stringify(item)).join("\n");
}
