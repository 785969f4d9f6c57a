import type { StoredSeries } from "../client/client.js";
import { membersBySegment, overlapOf } from "./synthetic-members.js";
import { chance, type SyntheticExperience, type SyntheticSet, smallSet } from "./synthetic-sets.js";

const HOUR = 3_600_000;
export const WEEK = 168 * HOUR;

/** Points in the form of `POST /api/metric/points`. */
export interface Block {
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
    moveBlock(segments, slots(from, from + WEEK, 2 * HOUR), now),
    sizeBlock(experiences, slots(from, from + WEEK, HOUR), now),
    sizeBlock(groups, slots(from, from + WEEK, HOUR), now),
    streamBlock(set, from, from + WEEK),
  ]);
}

/**
 * Returns the streams of the `weeks` up to `now` (Unix ms), a block per week. The values of a slot do not depend on
 * `now`.
 */
export function syntheticStreams(weeks: number, now: number, set = smallSet): Block[] {
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

function sizeBlock(all: readonly GrownSeries[], ts: readonly number[], now: number): Block {
  return { series: all.map(({ series }) => series), ts, values: sizesAt(all, ts, now) };
}

/** Returns how many joined and left each segment in each slot: their difference leads to the next size. */
function moveBlock(segments: readonly GrownSeries[], ts: readonly number[], now: number): Block {
  const sizes = sizesAt(segments, [...ts, (ts.at(-1) ?? now) + 2 * HOUR], now);
  const series = segments.flatMap(({ series: { dimension_id } }): StoredSeries[] => [
    { dimension: "segment", dimension_id, dimension_type: "joined" },
    { dimension: "segment", dimension_id, dimension_type: "left" },
  ]);
  const values = segments.flatMap(({ series: { dimension_id }, today }, at) => {
    const own = sizes[at] as number[];
    const moves = ts.map((slot, i) => {
      const change = (own[i + 1] as number) - (own[i] as number);
      const swapped = Math.round(Math.min(3, today / 40) * chance(dimension_id, slot / HOUR));
      return { joined: Math.max(0, change) + swapped, left: Math.max(0, -change) + swapped };
    });
    return [moves.map(({ joined }) => joined), moves.map(({ left }) => left)];
  });
  return { series, ts, values };
}

/** Returns sizes that approach today's in small steps. */
function sizesAt(all: readonly GrownSeries[], ts: readonly number[], now: number): number[][] {
  const steps = ts.map((slot) => chance("step", slot / HOUR) - 0.5);
  const days = ts.map((slot) => (now - slot) / (24 * HOUR));
  return all.map(({ today, growth }) => {
    const step = Math.min(4, today / 25);
    return days.map((ago, at) => Math.max(0, Math.round(today * growth ** -ago + (steps[at] as number) * step)));
  });
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
export function timeOutsideGap(stream: string, time: number): string {
  return new Date(isInGap(stream, time) ? time - GAP_HOURS * HOUR : time).toISOString();
}

/** Returns the starts of the slots after the slot of `from`, up to the slot of `to`. */
function slots(from: number, to: number, slotMs: number): number[] {
  const first = Math.floor(from / slotMs) + 1;
  return Array.from({ length: Math.floor(to / slotMs) + 1 - first }, (_, index) => (first + index) * slotMs);
}
