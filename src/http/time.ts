import { Type } from "@sinclair/typebox";

const format = "RFC 3339, UTC, with milliseconds.";

/** An instant in a response. */
export function Time(description: string) {
  return Type.String({ description: `${description} ${format}` });
}

/** An instant in a response, null where there is none. */
export function TimeOrNull(description: string) {
  return Type.Unsafe<string | null>({ type: ["string", "null"], description: `${description} ${format}` });
}

/** The text of an instant, Unix ms. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
