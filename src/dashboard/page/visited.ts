import type { ViewName } from "../address.js";

/** The page of a segment, experience, group or stream. It is never about a person. */
export interface Visited {
  readonly view: ViewName;
  readonly id: string;
  readonly name: string;
}

const PLACES = "places";
const MOST = 5;

/** Returns the last pages of this tab, the newest first. */
export const visited = (): readonly Visited[] => JSON.parse(sessionStorage.getItem(PLACES) ?? "[]");

/** Stores a page as the newest one. */
export function keepVisited(place: Visited): void {
  const others = visited().filter(({ view, id }) => view !== place.view || id !== place.id);
  sessionStorage.setItem(PLACES, JSON.stringify([place, ...others].slice(0, MOST)));
}

export const forgetVisited = (): void => sessionStorage.removeItem(PLACES);
