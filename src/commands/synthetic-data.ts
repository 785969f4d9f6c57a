import type { Client, StoredSeries } from "../client/client.js";
import { chance, type SyntheticExperience, type SyntheticSet, smallSet } from "./synthetic-sets.js";

/** A step of the synthetic data: one request or several concurrent ones, all safe to repeat. */
type SyntheticRequest = () => Promise<unknown>;

/** Messages per request. */
const MESSAGES = 200;
/** Maximum points per request. */
const POINTS = 50_000;
/** Concurrent requests to the catalogue, or of a single message. */
const CONCURRENT_REQUESTS = 32;

/**
 * Returns requests that fill a service with the synthetic data of the `weeks` up to `now` (Unix ms) and delete some of
 * its people: two deletions complete, and one stays open where the deletion target of the demo is configured.
 */
export function syntheticRequests(client: Client, weeks: number, now: number, set = smallSet): SyntheticRequest[] {
  return [
    ...atOnce(set.segments, ({ id, name }) => client.putSegment(id, { name, table: "user" })),
    ...atOnce(set.experiences, ({ id, ...experience }) => client.putExperience(id, experience)),
    ...writesOf(client, syntheticSeries(weeks, now, set)),
    ...messageRequests(client, weeks, now, set),
    () => leaveTwice(client),
    ...syntheticLeavers.map((email) => () => client.requestDeletion("user", "email", email)),
  ];
}

/** Returns requests that write only the streams, so that they continue in a service filled earlier. */
export function streamRequests(client: Client, weeks: number, now: number, set = smallSet): SyntheticRequest[] {
  return writesOf(client, syntheticStreams(weeks, now, set));
}

function atOnce<T>(all: readonly T[], request: (one: T) => Promise<unknown>): SyntheticRequest[] {
  return pagesOf(all, CONCURRENT_REQUESTS).map((some) => () => Promise.all(some.map(request)));
}

function pagesOf<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, page) => all.slice(page * size, (page + 1) * size));
}

function writesOf(client: Client, blocks: readonly Block[]): SyntheticRequest[] {
  return blocks.flatMap(({ series, ts, values }) => {
    const size = Math.floor(POINTS / ts.length);
    const parts = pagesOf(values, size);
    return pagesOf(series, size).map(
      (some, part) => () => client.writePoints({ series: some, ts, values: parts[part] ?? [] }),
    );
  });
}

function messageRequests(client: Client, weeks: number, now: number, set: SyntheticSet): SyntheticRequest[] {
  const collect = (stream: string, messages: readonly unknown[]) =>
    client.collect(stream, messages, { timestamp_field: MADE_UP_TIME }).next();
  const all = syntheticMessages(weeks, now, set);
  const single = all.filter(([, messages]) => messages.length === 1);
  return [
    ...all
      .filter(([, messages]) => messages.length > 1)
      .flatMap(([stream, messages]) => pagesOf(messages, MESSAGES).map((some) => () => collect(stream, some))),
    ...atOnce(single, ([stream, messages]) => collect(stream, messages)),
  ];
}

/**
 * Deletes a person whom the demo's deletion target refuses to delete, and again after another message about that
 * person: the first request fails until it is stuck, and the second waits for the first. Does nothing while they are
 * open.
 */
async function leaveTwice(client: Client): Promise<void> {
  if ((await client.page("deletion", { state: "open", limit: 1 })).meta.total > 0) return;
  for (const message of [{ email: syntheticStuck.email }, syntheticStuck]) {
    await client.collect("email", [message]).next();
    await client.requestDeletion("user", "email", syntheticStuck.email);
  }
}

/** Number of synthetic people. */
const PEOPLE = 600;

/** Returns the numbers of the people in each segment of a set. */
function membersBySegment({ segments }: SyntheticSet): ReadonlyMap<string, ReadonlySet<number>> {
  const people = Array.from({ length: PEOPLE }, (_, index) => index);
  return new Map(segments.map(({ id, share }) => [id, new Set(people.filter((index) => chance(id, index) < share))]));
}

/** Returns messages about synthetic people in the form of `/collect/json`. */
function syntheticPeople(set: SyntheticSet): Record<string, unknown>[] {
  const cities = ["Lisbon", "Oslo", "Vienna", "Porto", "Köln", "東京", "القاهرة"];
  const members = [...membersBySegment(set)];
  return Array.from({ length: PEOPLE }, (_, index) => ({
    _uid: `visitor-${index + 1}`,
    email: `visitor-${index + 1}@example.com`,
    city: cities[Math.floor(chance("city", index) * cities.length)],
    visits: 1 + Math.floor(chance("visits", index) * 40),
    segments: members.filter(([, people]) => people.has(index)).map(([id]) => id),
  }));
}

/** Attribute of a message that holds its event time. */
const MADE_UP_TIME = "last_seen";

/**
 * Returns the messages of each stream in the form of `/collect/json`. All people use the web, some the app, some open
 * e-mails, and one uses each other stream. Event times are spread over the `weeks` up to `now` (Unix ms) and avoid the
 * gap of their stream, so that no hour has many. Messages about people whose deletion is requested have no event time.
 */
function syntheticMessages(
  weeks: number,
  now: number,
  set = smallSet,
): [stream: string, messages: Record<string, unknown>[]][] {
  const people: Record<string, unknown>[] = syntheticPeople(set).map((person, index) => ({
    ...person,
    [MADE_UP_TIME]: timeOutsideGap("web", now - ((index + 1) / PEOPLE) * weeks * WEEK),
  }));
  const message = (stream: string, index: number) => ({
    _uid: people[index]?._uid,
    email: people[index]?.email,
    [MADE_UP_TIME]: timeOutsideGap(stream, now - ((index + 1) / PEOPLE) * weeks * WEEK),
    [`uses_${stream}`]: true,
  });
  const some = (stream: string, share: number) =>
    [...people.keys()].filter((index) => chance(stream, index) < share).map((index) => message(stream, index));
  const others = set.streams.slice(smallSet.streams.length);
  return [
    ["web", people],
    ["mobile", some("mobile", 0.36)],
    ["email", [...some("email", 0.2), ...syntheticLeavers.map((email) => ({ email }))]],
    ...others.map(({ id }, at): [string, Record<string, unknown>[]] => [id, [message(id, at % PEOPLE)]]),
  ];
}

/** Made-up people whose deletion completes. They belong to no segment. */
const syntheticLeavers = ["leaver-1@example.com", "leaver-2@example.com"];

/**
 * A synthetic person whom the demo's deletion target refuses to delete unless the request contains the `_uid`, which
 * only the second message has.
 */
export const syntheticStuck = { email: "leaver-3@example.com", _uid: "leaver-3" };

/** Counts the people in all of these segments of the small set. */
export function membersOf(...ids: readonly string[]): number {
  return overlapOf(membersBySegment(smallSet), ids);
}

function overlapOf(members: ReadonlyMap<string, ReadonlySet<number>>, [first = "", ...others]: readonly string[]) {
  const rest = others.map((id) => members.get(id));
  return [...(members.get(first) ?? [])].filter((index) => rest.every((people) => people?.has(index))).length;
}

const HOUR = 3_600_000;
const WEEK = 168 * HOUR;

/** Points in the form of `POST /api/metric/points`. */
interface Block {
  readonly series: readonly StoredSeries[];
  readonly ts: readonly number[];
  readonly values: readonly (readonly (number | null)[])[];
}

/**
 * Returns the metrics of the `weeks` up to `now` (Unix ms), a block per dimension and week. They include the current
 * slot, because the recorder's own sample during seeding would be too small.
 */
export function syntheticSeries(weeks: number, now: number, set = smallSet): Block[] {
  const members = membersBySegment(set);
  const segments = segmentSizes(set, members);
  const experiences = reachOf(set, "experience", members);
  const groups = reachOf(set, "experiencegroup", members);
  return weekStarts(weeks, now).flatMap((from) => [
    sizeBlock(segments, slots(from, from + WEEK, 2 * HOUR), now),
    sizeBlock(experiences, slots(from, from + WEEK, HOUR), now),
    sizeBlock(groups, slots(from, from + WEEK, HOUR), now),
    streamBlock(set, from, from + WEEK),
  ]);
}

/**
 * Returns the streams of the `weeks` up to `now` (Unix ms), a block per week. The values of a slot do not depend on
 * `now`.
 */
function syntheticStreams(weeks: number, now: number, set = smallSet): Block[] {
  return weekStarts(weeks, now).map((from) => streamBlock(set, from, from + WEEK));
}

function weekStarts(weeks: number, now: number): number[] {
  return Array.from({ length: weeks }, (_, week) => now - (weeks - week) * WEEK);
}

/** A series that ends at `today` after growing by the factor `growth` per day. */
interface GrownSeries {
  readonly series: StoredSeries;
  readonly today: number;
  readonly growth: number;
}

function segmentSizes({ segments }: SyntheticSet, members: ReadonlyMap<string, ReadonlySet<number>>): GrownSeries[] {
  return segments.map(({ id, growth }) => ({
    series: { dimension: "segment", dimension_id: id, dimension_type: "size" },
    today: overlapOf(members, [id]),
    growth,
  }));
}

/**
 * Returns the reach of each experience or group. The number of people who convert changes faster than the number
 * reached.
 */
function reachOf(
  { experiences }: SyntheticSet,
  dimension: "experience" | "experiencegroup",
  members: ReadonlyMap<string, ReadonlySet<number>>,
): GrownSeries[] {
  const byId = new Map<string, SyntheticExperience[]>();
  for (const one of experiences) {
    const id = dimension === "experience" ? one.id : one.group;
    byId.set(id, [...(byId.get(id) ?? []), one]);
  }
  return [...byId].flatMap(([id, all]) => {
    const sum = (idsOf: (one: SyntheticExperience) => string[]) =>
      all.reduce((total, one) => total + overlapOf(members, idsOf(one)), 0);
    const reached = { dimension, dimension_id: id, dimension_type: "potentialreach" } as const;
    const converted = { dimension, dimension_id: id, dimension_type: "actualreach" } as const;
    return [
      { series: reached, today: sum(({ audience }) => [audience]), growth: 1.01 },
      { series: converted, today: sum(({ audience, goal }) => [audience, goal]), growth: 1 + 0.03 * chance(id, 0) },
    ];
  });
}

/** Returns sizes that approach today's in small steps. */
function sizeBlock(all: readonly GrownSeries[], ts: readonly number[], now: number): Block {
  const steps = ts.map((slot) => chance("step", slot / HOUR) - 0.5);
  const days = ts.map((slot) => (now - slot) / (24 * HOUR));
  const values = all.map(({ today, growth }) => {
    const step = Math.min(4, today / 25);
    return days.map((ago, at) => Math.max(0, Math.round(today * growth ** -ago + (steps[at] as number) * step)));
  });
  return { series: all.map(({ series }) => series), ts, values };
}

/** Returns messages per hour: many in the afternoon, few at night, fewer at weekends, none in the gap. */
function streamBlock({ streams }: SyntheticSet, from: number, to: number): Block {
  const ts = slots(from, to, HOUR);
  const shares = ts.map((slot) => {
    const at = new Date(slot);
    const day = 0.55 - 0.45 * Math.cos(((at.getUTCHours() - 3) / 12) * Math.PI);
    return at.getUTCDay() % 6 === 0 ? day * 0.6 : day;
  });
  return {
    series: streams.map(({ id }) => ({ dimension: "stream", dimension_id: id, dimension_type: "size" })),
    ts,
    values: streams.map(({ id, messages }) =>
      ts.map((slot, at) =>
        isInGap(id, slot)
          ? null
          : Math.round(messages * (shares[at] as number) * (0.85 + 0.3 * chance(id, slot / HOUR))),
      ),
    ),
  };
}

/** The e-mail stream pauses every Saturday for this time. */
const GAP_START_HOUR = 6;
const GAP_HOURS = 8;

function isInGap(stream: string, time: number): boolean {
  const at = new Date(time);
  const hour = at.getUTCHours() - GAP_START_HOUR;
  return stream === "email" && at.getUTCDay() === 6 && hour >= 0 && hour < GAP_HOURS;
}

/** Moves a time out of the gap: the recorder would count a message there and fill the gap. */
function timeOutsideGap(stream: string, time: number): string {
  return new Date(isInGap(stream, time) ? time - GAP_HOURS * HOUR : time).toISOString();
}

/** Returns the starts of the slots after that of `from`, up to that of `to`. */
function slots(from: number, to: number, slotMs: number): number[] {
  const first = Math.floor(from / slotMs) + 1;
  return Array.from({ length: Math.floor(to / slotMs) + 1 - first }, (_, index) => (first + index) * slotMs);
}
