import { nearestWord } from "../names.js";
import type { Issues } from "./issues.js";

/** Notes each field of a JSON object that is none of `known`, naming the known field that is nearest to it. */
export function unknownFields(object: object, known: readonly string[], path: string, issues: Issues): void {
  for (const name of Object.keys(object)) {
    if (issues.full) return;
    if (known.includes(name)) continue;
    issues.add(
      "unknown_field",
      path,
      `There is a field that is not known; the nearest known one is ${nearestWord(name, known).word}`,
    );
  }
}
