import { randomBytes } from "node:crypto";
import type { Collection, Filter } from "mongodb";
import type { SlotColumn } from "../../metrics/series.js";
import type { SeriesSlot } from "../../metrics/slot-claims.js";
import { oneOf } from "./collection.js";
import { type ClaimDocument, namesOf } from "./slot-claim-documents.js";

/** Series and windows that one query asks about. */
const SERIES = 2_000;
const WINDOWS = 200;
const QUERIES_AT_ONCE = 4;

/** Claims changed in one write. */
const CHANGES = 1_000;

/** As the port promises: only claims that are there cost more than a look. */
export async function giveAway(
  claims: Collection<ClaimDocument>,
  columns: readonly SlotColumn[],
): Promise<SeriesSlot[]> {
  const queries = queriesFor(columns);
  const found: ClaimDocument[] = [];
  for (let at = 0; at < queries.length; at += QUERIES_AT_ONCE) {
    const some = queries.slice(at, at + QUERIES_AT_ONCE);
    const documents = await Promise.all(some.map((query) => claims.find(query).toArray()));
    found.push(...documents.flat());
  }
  const gifts = giftsOf(columns, found);
  await give(claims, gifts);
  return gifts.flatMap(({ document, series }) => (document.given ? [] : [{ series, slot: document.slot }]));
}

/** Looks for all claims in the windows of the columns: series of one kind with the same window share a condition. */
function queriesFor(columns: readonly SlotColumn[]): Filter<ClaimDocument>[] {
  const windows = new Map<string, { readonly column: SlotColumn; readonly ids: Set<string> }>();
  for (const column of columns) {
    const { series, from, values } = column;
    const key = `${series.dimension.name}/${series.type}/${from}/${values.length}`;
    const window = windows.get(key);
    if (window === undefined) windows.set(key, { column, ids: new Set([series.id]) });
    else window.ids.add(series.id);
  }
  const queries: Filter<ClaimDocument>[][] = [];
  let room = 0;
  for (const { column, ids } of windows.values()) {
    for (const some of inBatches([...ids], SERIES)) {
      const last = queries.at(-1);
      const condition = { ...windowOf(column), id: oneOf(some) };
      if (last === undefined || room < some.length || last.length === WINDOWS) {
        queries.push([condition]);
        room = SERIES;
      } else last.push(condition);
      room -= some.length;
    }
  }
  return queries.map(([first = {}, ...others]) => (others.length === 0 ? first : { $or: [first, ...others] }));
}

function windowOf({ series, from, values }: SlotColumn) {
  const { dimension, type } = namesOf(series);
  return { dimension, type, slot: { $gte: from, $lt: from + values.length * series.dimension.slotMs } };
}

interface Gift {
  readonly document: ClaimDocument;
  readonly series: SlotColumn["series"];
  readonly value: number;
}

/** What the columns say of the slots of these claims; of two that name a slot, the later one. */
function giftsOf(columns: readonly SlotColumn[], claims: readonly ClaimDocument[]): Gift[] {
  if (claims.length === 0) return [];
  const bySeries = new Map<string, ClaimDocument[]>();
  for (const claim of claims) {
    const key = keyOf(claim);
    const own = bySeries.get(key);
    if (own === undefined) bySeries.set(key, [claim]);
    else own.push(claim);
  }
  const gifts = new Map<string, Gift>();
  for (const { series, from, values } of columns) {
    for (const document of bySeries.get(keyOf(namesOf(series))) ?? []) {
      const value = values[(document.slot - from) / series.dimension.slotMs];
      if (value !== undefined && !Number.isNaN(value)) gifts.set(document._id, { document, series, value });
    }
  }
  return [...gifts.values()];
}

function keyOf({ dimension, type, id }: Pick<ClaimDocument, "dimension" | "type" | "id">): string {
  return `${dimension}/${type}/${id}`;
}

/** A claim that is open stays so: its recorder may yet write over the slot. */
async function give(claims: Collection<ClaimDocument>, gifts: readonly Gift[]): Promise<void> {
  const mark = randomBytes(12).toString("hex");
  const byValue = new Map<number, string[]>();
  for (const { document, value } of gifts) {
    if (document.given && document.value === value) continue;
    const ids = byValue.get(value);
    if (ids === undefined) byValue.set(value, [document._id]);
    else ids.push(document._id);
  }
  const changes = [...byValue].flatMap(([value, ids]) =>
    inBatches(ids, CHANGES).map((some) => ({
      updateMany: { filter: { _id: oneOf(some) }, update: { $set: { given: true, confirmed: true, value, mark } } },
    })),
  );
  for (const some of inBatches(changes, CHANGES)) await claims.bulkWrite(some, { ordered: false });
}

function inBatches<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
