import type { WalkPlace } from "../catalogue/ports.js";
import type { Facts } from "../facts.js";

/** In the data: the places of the walk over the profiles, as JSON by table. */
const PLACES = "rule walk";

export type WalkPlaces = Readonly<Record<string, WalkPlace>>;

export const firstPlace: WalkPlace = { lap: 0, after: "", passed: 0 };

/** Returns the place of the walk in each table; tables without a walk are absent. */
export async function walkPlaces(facts: Pick<Facts, "text">): Promise<WalkPlaces> {
  return placesIn(await facts.text(PLACES));
}

/** Stores a place unless another process has stored one since `before` was read. Resolves with whether it did. */
export async function moveWalk(
  facts: Pick<Facts, "text" | "replaceText">,
  table: string,
  before: WalkPlace,
  place: WalkPlace,
): Promise<boolean> {
  const text = await facts.text(PLACES);
  const places = placesIn(text);
  if (JSON.stringify(places[table] ?? firstPlace) !== JSON.stringify(before)) return false;
  return facts.replaceText(PLACES, text, JSON.stringify({ ...places, [table]: place }));
}

function placesIn(text: string | undefined): WalkPlaces {
  return text === undefined ? {} : (JSON.parse(text) as WalkPlaces);
}

/** Returns whether the walk has passed every profile since it was at `start`. */
export function hasPassed(place: WalkPlace, start: WalkPlace): boolean {
  return place.lap > start.lap + 1 || (place.lap === start.lap + 1 && place.after >= start.after);
}
