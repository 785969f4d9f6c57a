import type { Client } from "../client/client.js";
import { membersBySegment, PEOPLE } from "./synthetic-members.js";
import { type Block, syntheticSeries, syntheticStreams, timeOutsideGap, WEEK } from "./synthetic-series.js";
import { chance, type SyntheticSet, smallSet } from "./synthetic-sets.js";

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

/** Synthetic people whose deletion completes. They belong to no segment. */
const syntheticLeavers = ["leaver-1@example.com", "leaver-2@example.com"];

/**
 * A synthetic person whom the demo's deletion target refuses to delete unless the request contains the `_uid`, which
 * only the second message has.
 */
export const syntheticStuck = { email: "leaver-3@example.com", _uid: "leaver-3" };
