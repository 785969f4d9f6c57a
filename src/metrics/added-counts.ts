import { segment as segmentDimension, stream as streamDimension } from "./dimensions.js";
import type { SlotCount } from "./ports.js";
import { type Series, slotStart } from "./series.js";

/** An addition to the count of a stream, or of the people who joined or left a segment, in a slot. */
export interface AddedCount extends Omit<SlotCount, "token"> {
  /** The newest arrival of the messages of a stream, Unix ms; absent in a count of people. */
  readonly arrival?: number;
}

/** The number of people who joined a segment less the number who left it. */
export interface SegmentMove {
  readonly segment: string;
  readonly change: number;
}

/** The messages of a commit, the ids of uncounted ones, and the turns of its profiles `at` an instant, Unix ms. */
interface CountedCommit {
  readonly messages: readonly {
    readonly id: string;
    readonly stream: string;
    readonly time: number;
    readonly arrival: number;
  }[];
  readonly uncounted: ReadonlySet<string>;
  readonly profiles: readonly { readonly turns: readonly SegmentMove[] }[];
  readonly at: number;
}

/**
 * Returns the additions of a commit: messages in the slots of their event times, and people in the slot of `at`. Each
 * pair of name and slot occurs once.
 */
export function commitCounts({ messages, uncounted, profiles, at }: CountedCommit): AddedCount[] {
  const counted = uncounted.size === 0 ? messages : messages.filter(({ id }) => !uncounted.has(id));
  const each = counted.map(({ stream, time, arrival }) => {
    return { stream, slot: slotStart(streamDimension, time), count: 1, arrival };
  });
  const turns = profiles.flatMap((profile) => profile.turns);
  return [...summed(each), ...moveCounts(turns, at)];
}

/**
 * Returns the number of people who joined and left each segment, in the slot of `at` (Unix ms). Counts are kept by the
 * hour and a segment's slot has two, so its count is stored under the last hour and saved when the slot has ended.
 */
export function moveCounts(moves: readonly SegmentMove[], at: number): AddedCount[] {
  const slot = slotStart(segmentDimension, at) + segmentDimension.slotMs - streamDimension.slotMs;
  const changes = moves.filter(({ change }) => change !== 0);
  return summed(
    changes.map(({ segment, change }) => {
      return { stream: `/${change > 0 ? "joined" : "left"}/${segment}`, slot, count: Math.abs(change) };
    }),
  );
}

/** Pattern of the names of a segment's counts among the counts of streams. No stream name contains a slash. */
const COUNT_NAME = /^\/(joined|left)\/(.+)$/s;

/** Returns the series in which a count is saved. */
export function countedSeries(name: string): Series {
  const [, type, id] = COUNT_NAME.exec(name) ?? [];
  if (type === undefined || id === undefined) return { dimension: streamDimension, id: name, type: "size" };
  return { dimension: segmentDimension, id, type };
}

/** Sums the additions of each name and slot. */
function summed(added: readonly AddedCount[]): AddedCount[] {
  const sums = new Map<string, AddedCount>();
  for (const addition of added) {
    const key = `${addition.slot}/${addition.stream}`;
    const { count, arrival = 0 } = sums.get(key) ?? { count: 0 };
    const newest = addition.arrival === undefined ? {} : { arrival: Math.max(addition.arrival, arrival) };
    sums.set(key, { ...addition, count: count + addition.count, ...newest });
  }
  return [...sums.values()];
}
