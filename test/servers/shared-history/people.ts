import type { SentMessage, Shown, Span } from "../../support/erasure-worlds.js";

/** When each message may have happened, by its number; one that was sent several times at several times. */
type SentTimes = ReadonlyMap<number, readonly Span[]>;

/** None is protected: a message about several people merges them. */
const FIELDS = ["_uid", "email"] as const;
const SEGMENTS = 5;
const LONG = 3_000;

/** Everything personal contains the canary. */
export function pathOfPerson(canary: string, who: number): string {
  return `/api/entity/user/${fieldOf(who)}/${encodeURIComponent(nameOf(canary, who))}`;
}

/** A message as a line of JSON: an attribute of its own, and one that all messages set. */
export function textOfMessage(canary: string, { number, who, time }: SentMessage): string {
  const identities = Object.fromEntries(
    FIELDS.map((field) => [field, who.filter((one) => fieldOf(one) === field).map((one) => nameOf(canary, one))]),
  );
  const given = Object.entries(identities).filter(([, values]) => values.length > 0);
  return JSON.stringify({
    ...Object.fromEntries(given),
    ...(time === undefined ? {} : { at: time }),
    [`${canary}_${number}`]: textFor(canary, number),
    latest: `${canary} ${number}`,
    segments: { add: [segmentOf(number)] },
  });
}

/** The segments that messages name. */
export const segmentIds = Array.from({ length: SEGMENTS }, (_, number) => segmentOf(number));

/** The identities and messages of a response; throws if its values differ from the messages' values. */
export function readPerson(canary: string, data: Readonly<Record<string, unknown>>, times: SentTimes): Shown {
  const who = FIELDS.flatMap((field) => [data[field] ?? []].flat() as string[]).map((value) => personOf(canary, value));
  const messages = Object.keys(data).flatMap((name) =>
    name.startsWith(`${canary}_`) ? [Number(name.slice(canary.length + 1))] : [],
  );
  for (const number of messages) {
    if (data[`${canary}_${number}`] !== textFor(canary, number))
      throw new Error(`Message ${number} is read as another`);
  }
  const segments = [...new Set(messages.map(segmentOf))].sort();
  if (JSON.stringify(data.segments) !== JSON.stringify(segments)) {
    throw new Error(`Of messages ${messages} the segments are ${JSON.stringify(data.segments)}`);
  }
  const latest = Number(String(data.latest).slice(canary.length + 1));
  const newer = messages.filter((number) => firstOf(times, number) > lastOf(times, latest));
  if (!messages.includes(latest) || newer.length > 0) {
    throw new Error(`Of messages ${messages} the latest is ${latest}, though ${newer} are newer`);
  }
  return { who: who.sort((a, b) => a - b), messages: messages.sort((a, b) => a - b) };
}

function fieldOf(who: number): (typeof FIELDS)[number] {
  return FIELDS[who % FIELDS.length] as (typeof FIELDS)[number];
}

function nameOf(canary: string, who: number): string {
  return fieldOf(who) === "email" ? `${canary}-${who}@example.org` : `${canary}-${who}`;
}

function personOf(canary: string, value: string): number {
  return Number.parseInt(value.slice(canary.length + 1), 10);
}

function segmentOf(number: number): string {
  return `segment-${number % SEGMENTS}`;
}

function textFor(canary: string, number: number): string {
  return number % 9 === 0 ? `${canary} `.repeat(LONG / canary.length) : `${canary} said ${number}`;
}

function firstOf(times: SentTimes, number: number): number {
  return Math.min(...(times.get(number) ?? []).map(({ from }) => from));
}

function lastOf(times: SentTimes, number: number): number {
  return Math.max(...(times.get(number) ?? []).map(({ to }) => to));
}
