/** A segment of the made-up data: `share` of all people are in it. */
interface MadeUpSegment {
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
const PEOPLE = 600;

/** A number from 0 to 1 that depends on nothing but its arguments: the same made-up data every time. */
function chance(seed: string, index: number): number {
  let hash = 2166136261 ^ index;
  for (let i = 0; i < seed.length; i += 1) hash = Math.imul(hash ^ seed.charCodeAt(i), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return ((hash ^ (hash >>> 16)) >>> 0) / 4294967296;
}

/** Messages about made-up people, in the form that `/collect/json` takes. */
function madeUpPeople(): Record<string, unknown>[] {
  const cities = ["Lisbon", "Oslo", "Vienna", "Porto", "Ghent", "Turin"];
  return Array.from({ length: PEOPLE }, (_, index) => ({
    _uid: `visitor-${index + 1}`,
    email: `visitor-${index + 1}@example.com`,
    city: cities[Math.floor(chance("city", index) * cities.length)],
    visits: 1 + Math.floor(chance("visits", index) * 40),
    segments: madeUpSegments.filter(({ id, share }) => chance(id, index) < share).map(({ id }) => id),
  }));
}

/** Messages of each stream, in the form that `/collect/json` takes: all people use the web, some the app, some open e-mails. */
export function madeUpMessages(): [stream: string, messages: Record<string, unknown>[]][] {
  const people = madeUpPeople();
  const some = (stream: string, share: number) =>
    people
      .filter((_, index) => chance(stream, index) < share)
      .map(({ _uid, email }) => ({ _uid, email, [`last_${stream}`]: "today" }));
  return [
    ["web", people],
    ["mobile", some("mobile", 0.36)],
    ["email", [...some("email", 0.2), ...madeUpLeavers.map((email) => ({ email }))]],
  ];
}

/** Made-up people who want to be forgotten. They belong to no segment. */
export const madeUpLeavers = ["leaver-1@example.com", "leaver-2@example.com"];

/** Made-up people who are in every one of these segments. */
export function membersOf(...ids: readonly string[]): number {
  return madeUpPeople().filter(({ segments }) => ids.every((id) => (segments as string[]).includes(id))).length;
}

const HOUR = 3_600_000;
const WEEK = 168 * HOUR;

/** Experiences of the made-up data, as the catalogue takes them. */
export const madeUpExperiences = [
  { id: "welcome-offer", name: "Welcome offer", group: "onboarding", audience: "newsletter", goal: "frequent-buyers" },
  { id: "app-tour", name: "Tour of the app", group: "onboarding", audience: "mobile-app", goal: "frequent-buyers" },
  {
    id: "cart-reminder",
    name: "Cart reminder",
    group: "retention",
    audience: "cart-abandoners",
    goal: "frequent-buyers",
  },
] as const;

const streams = [
  { id: "web", messages: 900 },
  { id: "mobile", messages: 420 },
  { id: "email", messages: 130 },
] as const;

/** A write of many points, as `POST /api/metric/points` takes it. */
export interface Block {
  readonly series: readonly { dimension: string; dimension_id: string; dimension_type: string }[];
  readonly ts: readonly number[];
  readonly values: readonly (readonly number[])[];
}

/** Metrics of the `weeks` up to `now` (Unix ms), a block for each dimension and week. The slot that `now` is in stays free. */
export function madeUpSeries(weeks: number, now: number): Block[] {
  return Array.from({ length: weeks }, (_, week) => {
    const from = now - (weeks - week) * WEEK;
    return [
      segmentBlock(from, from + WEEK, now),
      experienceBlock("experience", from, from + WEEK, now),
      experienceBlock("experiencegroup", from, from + WEEK, now),
      streamBlock(from, from + WEEK),
    ];
  }).flat();
}

/** Sizes that grow to the ones of today. */
function segmentBlock(from: number, to: number, now: number): Block {
  const series = madeUpSegments.map(({ id }) => ({ dimension: "segment", dimension_id: id, dimension_type: "size" }));
  const today = madeUpSegments.map(({ id }) => membersOf(id));
  return block(series, slots(from, to, 2 * HOUR), (index, slot) => grown(today[index] as number, slot, now));
}

/** Reach and conversion, of each experience or of each group. */
function experienceBlock(dimension: "experience" | "experiencegroup", from: number, to: number, now: number): Block {
  const ids = [
    ...new Set(madeUpExperiences.map((experience) => (dimension === "experience" ? experience.id : experience.group))),
  ];
  const series = ids.flatMap((id) =>
    ["potentialreach", "actualreach"].map((type) => ({ dimension, dimension_id: id, dimension_type: type })),
  );
  const today = series.map(({ dimension_id: id, dimension_type: type }) =>
    madeUpExperiences
      .filter((experience) => experience.id === id || experience.group === id)
      .reduce(
        (sum, { audience, goal }) => sum + (type === "actualreach" ? membersOf(audience, goal) : membersOf(audience)),
        0,
      ),
  );
  return block(series, slots(from, to, HOUR), (index, slot) => grown(today[index] as number, slot, now));
}

/** Messages an hour: many in the afternoon, few at night, fewer at weekends. */
function streamBlock(from: number, to: number): Block {
  const series = streams.map(({ id }) => ({ dimension: "stream", dimension_id: id, dimension_type: "size" }));
  return block(series, slots(from, to, HOUR), (index, slot) => {
    const at = new Date(slot);
    const day = 0.55 - 0.45 * Math.cos(((at.getUTCHours() - 3) / 12) * Math.PI);
    const weekend = at.getUTCDay() % 6 === 0 ? 0.6 : 1;
    const { id, messages } = streams[index] as (typeof streams)[number];
    return Math.round(messages * day * weekend * (0.85 + 0.3 * chance(id, slot / HOUR)));
  });
}

/** A size some time before it is what it is `now`: two percent less for each day, with small steps. */
function grown(today: number, slot: number, now: number): number {
  const days = (now - slot) / (24 * HOUR);
  return Math.max(0, Math.round(today * 0.98 ** days + (chance("step", slot / HOUR) - 0.5) * 4));
}

function slots(from: number, to: number, slotMs: number): number[] {
  const first = Math.floor(from / slotMs);
  return Array.from({ length: Math.floor(to / slotMs) - first }, (_, index) => (first + index) * slotMs);
}

function block(series: Block["series"], ts: readonly number[], value: (index: number, slot: number) => number): Block {
  return { series, ts, values: series.map((_, index) => ts.map((slot) => value(index, slot))) };
}
