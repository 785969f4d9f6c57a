import { segment as segmentDimension, stream as streamDimension } from "./dimensions.js";
import type { SlotCount } from "./ports.js";
import { type Series, slotStart } from "./series.js";

/** The number of people who joined a segment less the number who left it. */
export type SegmentMove = readonly [segment: string, change: number];

/** People who joined or left a segment in a slot. */
export type MoveCount = Omit<SlotCount, "token">;

/** The counts of a segment among the counts of streams: no stream has a name with a slash. */
const COUNT_NAME = /^\/(joined|left)\/(.+)$/s;

/**
 * Returns the number of people who joined and left each segment, in the slot of `at` (Unix ms); each pair once. A
 * segment's slot is longer than a stream's, so its count has the last hour of it: it is saved when the slot has ended.
 */
export function moveCounts(moves: Iterable<SegmentMove>, at: number): MoveCount[] {
  const slot = slotStart(segmentDimension, at) + segmentDimension.slotMs - streamDimension.slotMs;
  const counts = new Map<string, number>();
  for (const [segment, change] of moves) {
    const name = `/${change > 0 ? "joined" : "left"}/${segment}`;
    counts.set(name, (counts.get(name) ?? 0) + Math.abs(change));
  }
  return Array.from(counts, ([stream, count]) => ({ stream, slot, count }));
}

/** The messages of a commit and the moves that they cause. */
interface MovingCommit {
  readonly messages: readonly { readonly arrival: number }[];
  readonly profiles: readonly { readonly moves: readonly SegmentMove[] }[];
}

/** Returns the moves of a commit, in the slot of the newest arrival of its messages. */
export function commitMoves({ messages, profiles }: MovingCommit): MoveCount[] {
  const moves = profiles.flatMap((change) => change.moves);
  if (moves.length === 0 || messages.length === 0) return [];
  return moveCounts(
    moves,
    messages.reduce((newest, { arrival }) => Math.max(newest, arrival), 0),
  );
}

/** Returns the series in which a count is saved. */
export function countedSeries(name: string): Series {
  const [, type, id] = COUNT_NAME.exec(name) ?? [];
  if (type === undefined || id === undefined) return { dimension: streamDimension, id: name, type: "size" };
  return { dimension: segmentDimension, id, type };
}
