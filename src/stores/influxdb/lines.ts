import { writeNumber, writeTags } from "../../formats/line-protocol.js";
import type { SettingSource, ValueSource } from "../../metrics/ports.js";
import type { AddedPoints, Series, SlotColumn } from "../../metrics/series.js";

/** The field of each source. */
export const fieldOf: Readonly<Record<ValueSource, string>> = {
  clients: "value",
  added: "added",
  recorder: "recorded",
};

/** The tag of the number of an added point's source, in hex. */
export const SOURCE_TAG = "added_by";

/** The tag of the order of an added point; absent for 0. */
export const ORDER_TAG = "order";

/**
 * Returns the slots of columns that are not NaN as line protocol, one after another, in the field of a source. Each is
 * stored as many ns after the start of its slot as the order of the write is: the last point of a slot has its value.
 */
export function linesOf(source: SettingSource, columns: readonly SlotColumn[], order: number): string {
  const ms = Math.floor(order / NS_PER_MS);
  const ns = String(order % NS_PER_MS).padStart(6, "0");
  let text = "";
  for (const { series, from, values } of columns) {
    const start = `${lineStart(series)}${fieldOf[source]}=`;
    const { slotMs } = series.dimension;
    for (let slot = 0; slot < values.length; slot += 1) {
      const value = values[slot] as number;
      if (!Number.isNaN(value)) text += `${start}${writeNumber(value)} ${from + slot * slotMs + ms}${ns}\n`;
    }
  }
  return text;
}

const NS_PER_MS = 1_000_000;

/**
 * Returns added points as line protocol, one after another. The order of the write is a tag, because a point is
 * identified by its time.
 */
export function addedLines(added: readonly AddedPoints[], order: number): string {
  const tag = order === 0 ? "" : `,${ORDER_TAG}=${order}`;
  let text = "";
  for (const { series, points } of added) {
    const start = `${lineStart(series).slice(0, -1)},${SOURCE_TAG}=`;
    for (const { ms, ns, source, value } of points) {
      const time = `${ms}${String(ns).padStart(6, "0")}`;
      text += `${start}${source.toString(16)}${tag} ${fieldOf.added}=${writeNumber(value)} ${time}\n`;
    }
  }
  return text;
}

/** Returns two texts of about half of the lines each; undefined for a single line. */
export function halves(text: string): [string, string] | undefined {
  const cut = text.indexOf("\n", text.length >> 1) + 1;
  const at = cut > 0 && cut < text.length ? cut : text.lastIndexOf("\n", text.length - 2) + 1;
  return at > 0 ? [text.slice(0, at), text.slice(at)] : undefined;
}

/** Start of the lines of a series, cached as long as its object is in use. */
const starts = new WeakMap<Series, string>();

/** Returns the start of the lines of a series. The names of dimensions and types need no escaping. */
function lineStart(series: Series): string {
  const known = starts.get(series);
  if (known !== undefined) return known;
  const { dimension, id, type } = series;
  const start = writeTags(dimension.name, { dimension_id: id, dimension_type: type });
  starts.set(series, start);
  return start;
}
