import type { WalkPlace } from "../catalogue/ports.js";
import type { Facts } from "../facts.js";

export const firstPlace: WalkPlace = { lap: 0, after: "", passed: 0 };

/** Returns the place of the walk in a table. */
export async function walkPlace(facts: Pick<Facts, "text">, table: string): Promise<WalkPlace> {
  const text = await facts.text(nameOf(table));
  return text === undefined ? firstPlace : (JSON.parse(text) as WalkPlace);
}

/**
 * Stores a place unless another process has stored one since `before` was read. Resolves with whether it did. After a
 * power cut an earlier place may be stored: the walk repeats what is after it.
 */
export function moveWalk(
  facts: Pick<Facts, "replaceText">,
  table: string,
  before: WalkPlace,
  place: WalkPlace,
): Promise<boolean> {
  const text = before === firstPlace ? undefined : JSON.stringify(before);
  return facts.replaceText(nameOf(table), text, JSON.stringify(place), true);
}

/** In the data: the place of the walk in a table, as JSON. */
function nameOf(table: string): string {
  return `rule walk of ${table}`;
}

/** Returns whether the walk has passed every profile since it was at `start`. */
export function hasPassed(place: WalkPlace, start: WalkPlace): boolean {
  return place.lap > start.lap + 1 || (place.lap === start.lap + 1 && place.after >= start.after);
}
