import { randomBytes } from "node:crypto";
import type { Collection, Filter } from "mongodb";
import type { Series, SlotColumn } from "../../metrics/series.js";
import type { SeriesSlot, SlotClaims } from "../../metrics/slot-claims.js";
import type { CollectionPlan } from "./collection.js";
import { isDuplicate } from "./failure.js";

/** A slot that the recorder claimed. */
export interface ClaimDocument {
  /** Dimension, type, slot and id. */
  readonly _id: string;
  readonly dimension: string;
  readonly type: string;
  readonly id: string;
  /** Start of the slot, Unix ms. */
  readonly slot: number;
  /** That of the recorder; once given away, of whoever wrote the slot through points. */
  readonly value: number;
  /** Whether the value may be written. */
  readonly confirmed: boolean;
  /** Whether the slot belongs to whoever wrote it through points. */
  readonly given: boolean;
  /** Whether the value is to be written (again): not settled. */
  readonly open: boolean;
  /** Token of the call that set the value. */
  readonly mark: string;
}

export const slotClaimsCollections: readonly CollectionPlan[] = [
  {
    name: "slot_claims",
    indexes: [
      { key: { open: 1, slot: 1 } },
      { key: { dimension: 1, type: 1, id: 1, slot: 1 } },
      { key: { dimension: 1, slot: 1 } },
    ],
  },
  { name: "leases", indexes: [] },
];

export function claimId({ series: { dimension, type, id }, slot }: SeriesSlot): string {
  return claimIdOf(dimension.name, type, slot, id);
}

export function claimIdOf(dimension: string, type: string, slot: number, id: string): string {
  return `${dimension}/${type}/${slot}/${id}`;
}

/** The names of a series, as a document keeps them. */
export function namesOf({ dimension, type, id }: Series): Pick<ClaimDocument, "dimension" | "type" | "id"> {
  return { dimension: dimension.name, type, id };
}

export interface LeaseDocument {
  readonly _id: string;
  readonly owner: string;
  /** Unix ms, by the clock of the owner. */
  readonly since: number;
  readonly until: number;
}

/** Leases, a document each: it is changed only when it does not hold the caller off, and cannot be made twice. */
export function mongoLease(leases: Collection<LeaseDocument>): SlotClaims["lease"] {
  return async (name, owner, now, until) => {
    const free = { _id: name, $or: [{ owner }, { until: { $lte: now } }, { since: { $gt: now } }] };
    try {
      await leases.updateOne(free, { $set: { owner, since: now, until } }, { upsert: true });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  };
}

/** Series, or windows, that one query asks about. */
const SERIES = 2_000;
const WINDOWS = 200;
const QUERIES_AT_ONCE = 4;

/** Claims that one query for many windows may hand out besides those that lie in the windows. */
const BESIDES = 2_000;

/** Claims changed in one write. */
const CHANGES = 1_000;

/** As the port promises: only claims that are there cost more than a look. */
export async function giveAway(
  claims: Collection<ClaimDocument>,
  columns: readonly SlotColumn[],
): Promise<SeriesSlot[]> {
  const found: ClaimDocument[] = [];
  for (const some of inBatches(bySeries(columns), QUERIES_AT_ONCE)) {
    found.push(...(await Promise.all(some.map((part) => findIn(claims, part)))).flat());
  }
  const gifts = giftsOf(columns, found);
  await give(claims, gifts);
  return gifts.flatMap(({ document, series }) => (document.given ? [] : [{ series, slot: document.slot }]));
}

/** Columns of one dimension and type, of so many series that one query can name them. */
interface Part {
  readonly ids: readonly string[];
  readonly columns: readonly SlotColumn[];
}

function bySeries(columns: readonly SlotColumn[]): Part[] {
  const kinds = new Map<string, Map<string, SlotColumn[]>>();
  for (const column of columns) {
    const { dimension, type, id } = column.series;
    const kind = `${dimension.name}/${type}`;
    const byId = kinds.get(kind) ?? new Map<string, SlotColumn[]>();
    kinds.set(kind, byId);
    const own = byId.get(id);
    if (own === undefined) byId.set(id, [column]);
    else own.push(column);
  }
  return [...kinds.values()].flatMap((byId) =>
    inBatches([...byId], SERIES).map((some) => ({
      ids: some.map(([id]) => id),
      columns: some.flatMap(([, own]) => own),
    })),
  );
}

/** The claims in the windows of the columns, and maybe some between them. */
async function findIn(claims: Collection<ClaimDocument>, { ids, columns }: Part): Promise<ClaimDocument[]> {
  const [first] = columns;
  if (first === undefined) return [];
  const { dimension, type } = namesOf(first.series);
  const from = columns.reduce((least, column) => Math.min(least, column.from), Number.POSITIVE_INFINITY);
  const to = columns.reduce((most, column) => Math.max(most, endOf(column)), Number.NEGATIVE_INFINITY);
  const around = { dimension, type, id: { $in: [...ids] }, slot: { $gte: from, $lt: to } };
  const found = await claims
    .find(around)
    .limit(BESIDES + 1)
    .toArray();
  if (found.length <= BESIDES) return found;
  found.length = 0;
  for (const some of inBatches(windowsOf(columns), WINDOWS))
    found.push(...(await claims.find({ $or: some }).toArray()));
  return found;
}

/** A condition for each window; series with the same one share it. */
function windowsOf(columns: readonly SlotColumn[]): Filter<ClaimDocument>[] {
  const windows = new Map<string, { readonly column: SlotColumn; readonly ids: Set<string> }>();
  for (const column of columns) {
    const key = `${column.from} ${column.values.length}`;
    const window = windows.get(key);
    if (window === undefined) windows.set(key, { column, ids: new Set([column.series.id]) });
    else window.ids.add(column.series.id);
  }
  return Array.from(windows.values(), ({ column, ids }) => {
    const { dimension, type } = namesOf(column.series);
    return { dimension, type, id: { $in: [...ids] }, slot: { $gte: column.from, $lt: endOf(column) } };
  });
}

function endOf({ series, from, values }: SlotColumn): number {
  return from + values.length * series.dimension.slotMs;
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
      updateMany: { filter: { _id: { $in: some } }, update: { $set: { given: true, confirmed: true, value, mark } } },
    })),
  );
  for (const some of inBatches(changes, CHANGES)) await claims.bulkWrite(some, { ordered: false });
}

function inBatches<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
