/** A segment of the made-up data: `share` of all people are in it. */
export interface MadeUpSegment {
  readonly id: string;
  readonly name: string;
  readonly share: number;
}

export const madeUpSegments: readonly MadeUpSegment[] = [
  { id: "all-visitors", name: "All visitors", share: 1 },
  { id: "newsletter", name: "Newsletter readers", share: 0.45 },
  { id: "frequent-buyers", name: "Frequent buyers", share: 0.18 },
  { id: "cart-abandoners", name: "Cart abandoners", share: 0.27 },
  { id: "mobile-app", name: "Mobile app users", share: 0.36 },
  { id: "at-risk", name: "At risk of leaving", share: 0.09 },
];

/** How many people the made-up data has. */
export const PEOPLE = 600;

/** A number from 0 to 1 that depends on nothing but its arguments: the same made-up data every time. */
export function chance(seed: string, index: number): number {
  let hash = 2166136261 ^ index;
  for (let i = 0; i < seed.length; i += 1) hash = Math.imul(hash ^ seed.charCodeAt(i), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return ((hash ^ (hash >>> 16)) >>> 0) / 4294967296;
}

/** Messages about made-up people, in the form that `/collect/json` takes. */
export function madeUpPeople(): Record<string, unknown>[] {
  const cities = ["Lisbon", "Oslo", "Vienna", "Porto", "Ghent", "Turin"];
  return Array.from({ length: PEOPLE }, (_, index) => ({
    _uid: `visitor-${index + 1}`,
    email: `visitor-${index + 1}@example.com`,
    city: cities[Math.floor(chance("city", index) * cities.length)],
    visits: 1 + Math.floor(chance("visits", index) * 40),
    segments: madeUpSegments.filter(({ id, share }) => chance(id, index) < share).map(({ id }) => id),
  }));
}

/** Made-up people who are in every one of these segments. */
export function membersOf(...ids: readonly string[]): number {
  return madeUpPeople().filter(({ segments }) => ids.every((id) => (segments as string[]).includes(id))).length;
}
