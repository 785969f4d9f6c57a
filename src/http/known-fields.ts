import type { Problems } from "./problems.js";

/** Notes each field of a JSON object that is none of `known`, naming the known field that is nearest to it. */
export function unknownFields(object: object, known: readonly string[], path: string, problems: Problems): void {
  for (const name of Object.keys(object)) {
    if (problems.full) return;
    if (known.includes(name)) continue;
    problems.add(
      "unknown_field",
      path,
      `There is a field that is not known; the nearest known one is ${nearest(name, known)}`,
    );
  }
}

/** The word that takes the fewest edits to reach. */
export function nearest(name: string, words: readonly string[]): string {
  const short = name.slice(0, 64).toLowerCase();
  return words.reduce((best, word) => (distance(short, word) < distance(short, best) ? word : best));
}

/** Levenshtein's distance. */
function distance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (previous[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[to.length] as number;
}
