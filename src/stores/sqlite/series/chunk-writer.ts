import { checksumOf, signed } from "../checksum.js";
import type { Database } from "../connection.js";
import type { ChunkLists } from "./chunk-lists.js";
import {
  CHUNK_SLOTS,
  DamagedRow,
  overlay,
  type RowSlots,
  SLOT_ROW,
  type SlotRow,
  savedRange,
  slotsOf,
} from "./chunks.js";
import { encodeSlots } from "./slot-codec.js";

/**
 * Writes values into a row of `chunk`, from the slot `at` of the chunk, inside `ChunkLists.changing`; NaN leaves a slot
 * unchanged. Reads the stored row only if the result depends on it. If that row cannot be read, or is listed and not
 * found, throws `DamagedRow` and writes nothing.
 */
export function chunkWriter(db: Database, lists: ChunkLists): (row: number, values: Float64Array, at: number) => void {
  const readChunk = db.prepare(`SELECT ${SLOT_ROW} FROM chunk WHERE id = ?`);
  const replace = db.prepare("UPDATE chunk SET first = ?, slots = ?, sum = ? WHERE id = ?");
  const insert = db.prepare("INSERT INTO chunk (first, slots, sum, id) VALUES (?, ?, ?, ?)");

  function stored(row: number): RowSlots | undefined {
    const found = readChunk.get(row) as SlotRow | undefined;
    return found && slotsOf(found);
  }

  return (row, values, at) => {
    const range = savedRange(values);
    if (range.start === range.end) return;
    const isWhole = range.end - range.start === CHUNK_SLOTS && !values.some(Number.isNaN);
    const old = isWhole ? undefined : stored(row);
    const { first, slots } = overlaid(old, values, at, range);
    const bytes = encodeSlots(slots);
    const cells = [first, bytes, signed(checksumOf(row, first, bytes)), row] as const;
    if (old === undefined && !(isWhole && lists.has(row))) {
      lists.add(row);
      insert.run(...cells);
    } else if (Number(replace.run(...cells).changes) === 0) throw DamagedRow.missing(row);
  };
}

/** Returns a row's content after the range of `values`, whose first slot is `at`, was written over it. */
function overlaid(
  old: RowSlots | undefined,
  values: Float64Array,
  at: number,
  { start, end }: { readonly start: number; readonly end: number },
): Pick<RowSlots, "first" | "slots"> {
  const first = Math.min(at + start, old?.first ?? CHUNK_SLOTS);
  const last = Math.max(at + end, old === undefined ? 0 : old.first + old.slots.length);
  const slots = new Float64Array(last - first).fill(Number.NaN);
  if (old !== undefined) slots.set(old.slots, old.first - first);
  overlay(values, slots, at + start - first, start, end);
  return { first, slots };
}
