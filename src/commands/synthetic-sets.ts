/** A segment of the synthetic data. `share` of all people are members; `growth` is its daily growth factor. */
interface SyntheticSegment {
  readonly id: string;
  readonly name: string;
  readonly share: number;
  readonly growth: number;
}

export interface SyntheticExperience {
  readonly id: string;
  readonly name: string;
  readonly group: string;
  readonly audience: string;
  readonly goal: string;
}

/** `messages` per hour of a weekday's afternoon. */
interface SyntheticStream {
  readonly id: string;
  readonly messages: number;
}

/** Segments, experiences and streams of the synthetic data. */
export interface SyntheticSet {
  readonly segments: readonly SyntheticSegment[];
  readonly experiences: readonly SyntheticExperience[];
  readonly streams: readonly SyntheticStream[];
}

/** A set that fits on a screen: segments that grow, one that falls, names in several scripts. */
export const smallSet: SyntheticSet = {
  segments: [
    { id: "all-visitors", name: "All visitors", share: 1, growth: 1.005 },
    { id: "newsletter", name: "Newsletter readers", share: 0.45, growth: 1.01 },
    { id: "frequent-buyers", name: "Frequent buyers", share: 0.18, growth: 1.02 },
    { id: "cart-abandoners", name: "Cart abandoners", share: 0.27, growth: 1 },
    { id: "mobile-app", name: "Mobile app users", share: 0.36, growth: 1.03 },
    { id: "at-risk", name: "At risk of leaving", share: 0.09, growth: 0.97 },
    { id: "grosse-groessen", name: "Käufer großer Größen", share: 0.12, growth: 1.01 },
    { id: "postoyannye", name: "Постоянные покупатели", share: 0.2, growth: 1.015 },
    { id: "顧客-東京", name: "東京のお客様", share: 0.15, growth: 1.025 },
    { id: "زوار-القاهرة", name: "زوار من القاهرة", share: 0.07, growth: 0.99 },
    { id: "दिल्ली", name: "दिल्ली के ग्राहक", share: 0.1, growth: 1.005 },
  ],
  experiences: [
    {
      id: "welcome-offer",
      name: "Welcome offer",
      group: "onboarding",
      audience: "newsletter",
      goal: "frequent-buyers",
    },
    { id: "app-tour", name: "Tour of the app", group: "onboarding", audience: "mobile-app", goal: "frequent-buyers" },
    {
      id: "cart-reminder",
      name: "Cart reminder",
      group: "retention",
      audience: "cart-abandoners",
      goal: "frequent-buyers",
    },
    {
      id: "tokyo-shipping",
      name: "東京への送料無料",
      group: "retention",
      audience: "顧客-東京",
      goal: "frequent-buyers",
    },
  ],
  streams: [
    { id: "web", messages: 900 },
    { id: "mobile", messages: 420 },
    { id: "email", messages: 130 },
  ],
};

const LARGE = { segments: 5_000, experiences: 300, streams: 500 };
/** Generated large segments, used as audiences of experiences. */
const AUDIENCES = 100;
const GROUPS = 12;
const MAX_NAME_LENGTH = 96;

const phrases = [
  "Readers of the weekly letter",
  "Käufer aus München",
  "Покупатели из Москвы",
  "大阪のお客様",
  "زوار من الإسكندرية",
  "मुंबई के ग्राहक",
  "Πελάτες από την Αθήνα",
];

/** Returns the small set extended to 5,000 segments, 300 experiences and 500 streams. */
export function largeSet(): SyntheticSet {
  return {
    segments: filled(smallSet.segments, LARGE.segments, (index) => ({
      id: segmentId(index),
      name: longName(index),
      share: index < smallSet.segments.length + AUDIENCES ? 0.05 + 0.4 * chance("share", index) : shareOf(index),
      growth: 0.985 + 0.04 * chance("growth", index),
    })),
    experiences: filled(smallSet.experiences, LARGE.experiences, (index) => ({
      id: `experience-${padded(index)}`,
      name: `Experience ${index}: ${phrases[index % phrases.length]}`,
      group: `group-${String((index % GROUPS) + 1).padStart(2, "0")}`,
      audience: segmentId(smallSet.segments.length + (index % AUDIENCES)),
      goal: index % 2 === 0 ? "frequent-buyers" : "newsletter",
    })),
    streams: filled(smallSet.streams, LARGE.streams, (index) => ({
      id: `stream-${padded(index)}`,
      messages: 2 + Math.round(400 * chance("messages", index) ** 4),
    })),
  };
}

function filled<T>(first: readonly T[], count: number, made: (index: number) => T): T[] {
  return [...first, ...Array.from({ length: count - first.length }, (_, at) => made(first.length + at))];
}

const padded = (index: number) => String(index).padStart(4, "0");
const segmentId = (index: number) => `segment-${padded(index)}`;
const shareOf = (index: number) => 0.03 * chance("share", index) ** 2;

/** Returns a name; every tenth one has the maximum length of real names. */
function longName(index: number): string {
  const phrase = phrases[index % phrases.length] as string;
  const name = `${phrase} ${index}`;
  return index % 10 === 0 ? `${name}: ${phrase.repeat(MAX_NAME_LENGTH)}`.slice(0, MAX_NAME_LENGTH) : name;
}

/** Returns a number from 0 to 1 that depends only on its arguments, so the data is always the same. */
export function chance(seed: string, index: number): number {
  let hash = 2166136261 ^ index;
  for (let i = 0; i < seed.length; i += 1) hash = Math.imul(hash ^ seed.charCodeAt(i), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return ((hash ^ (hash >>> 16)) >>> 0) / 4294967296;
}
