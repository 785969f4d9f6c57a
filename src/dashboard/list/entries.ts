import type { ListPage, ListRows } from "../../client/client.js";
import type { FetchOptions } from "../fetch-series.js";
import { countedWindow, type ListWindow, sampledWindow } from "../figures.js";
import type { Viewed } from "../time-window.js";

/** Lists of entries with a trend, and the views of one entry. */
export type EntryList = "segment" | "experience" | "stream";
export type EntryRow<L extends EntryList> = ListRows[L];

export interface Entry {
  readonly id: string;
  readonly name: string;
}

/** Returns id and name of a row; the name of a stream is its id. */
export function entryOf(row: EntryRow<EntryList> | Entry): Entry {
  return "stream" in row ? { id: row.stream, name: row.stream } : row;
}

/** Returns the window of the values of each row. */
export function windowOfList(list: EntryList, viewed: Viewed): ListWindow {
  return list === "stream" ? countedWindow(viewed) : sampledWindow(list, viewed);
}

/** Requests a page of a list with the values of the window. */
export async function entryPage<L extends EntryList>(
  list: L,
  query: Readonly<Record<string, string | number | undefined>>,
  options: FetchOptions,
): Promise<ListPage<EntryRow<L>>> {
  const { client, signal } = options;
  const found = await client.page(list, { ...query, ...windowOfList(list, options) }, { signal });
  return found as ListPage<EntryRow<L>>;
}

/** Returns the row of an entry; undefined for an unknown id. */
export async function findEntry<L extends EntryList>(
  list: L,
  id: string,
  options: FetchOptions,
): Promise<EntryRow<L> | undefined> {
  return (await entryPage(list, { id }, options)).data[0];
}
