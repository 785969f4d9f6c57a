import type { VNode } from "preact";
import type { ListPage } from "../../client/client.js";
import { csvOfRows } from "../csv.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";
import { type EntryList, type EntryRow, entryOf, entryPage, windowOfList } from "./entries.js";
import { Pager } from "./pager.js";
import { Search } from "./search.js";
import { type Column, Table } from "./table.js";

const PAGE_SIZE = 50;
/** Maximum rows of a request, and of a list that is sorted by a figure. */
const MAX_ROWS = 1_000;

/** Methods of the client that yield all rows, by the path of their list. */
const allOf = { segment: "segments", experience: "experiences", stream: "streams" } as const;

interface ListProps<L extends EntryList> {
  readonly list: L;
  readonly caption: string;
  readonly columns: readonly Column<EntryRow<L>>[];
  readonly rows: ListPage<EntryRow<L>>;
  readonly page: Page;
}

/** Fetches the page of a list that the view shows. Sorted by a figure, the list has no further pages. */
export async function fetchList<L extends EntryList>(list: L, page: Page): Promise<ListPage<EntryRow<L>>> {
  const { sort, cursors } = page.address;
  const query = listQuery(page);
  if (isByName(sort)) return entryPage(list, { ...query, after: cursors.at(-1) }, page);
  const { data, meta } = await entryPage(list, { ...query, limit: MAX_ROWS }, page);
  const from = Number(cursors.at(-1) ?? 0);
  const to = from + PAGE_SIZE;
  return { data: data.slice(from, to), meta: { ...meta, next: to < data.length ? String(to) : null } };
}

function isByName(sort: string | undefined): boolean {
  return sort === undefined || /^-?(id|name)$/.test(sort);
}

/** Query of a list for the search and order of the view. */
function listQuery({ address: { q, sort } }: Page) {
  const isDescending = sort?.startsWith("-") ?? false;
  return {
    limit: PAGE_SIZE,
    q,
    sort: isDescending ? sort?.slice(1) : sort,
    order: sort === undefined ? undefined : isDescending ? "desc" : "asc",
  };
}

/** A table with search, order, pages and a download of all rows. Search and order are part of the address. */
export function List<L extends EntryList>({ list, caption, columns, rows, page }: ListProps<L>): VNode {
  const { q, sort, cursors } = page.address;
  const { run, isRunning, problem } = useTask(page);
  const save = () =>
    run(async (signal) => {
      const all: object[] = [];
      // Further rows are listed by name alone.
      const sortOfAll = rows.meta.total > MAX_ROWS && !isByName(sort) ? { sort: "name" } : {};
      const query = { ...listQuery(page), ...windowOfList(list, page), limit: MAX_ROWS, ...sortOfAll };
      for await (const row of page.client[allOf[list]](query, { signal })) all.push(row);
      download(`${list}.csv`, new Blob([csvOfRows(all)], { type: "text/csv" }));
    });
  return (
    <>
      <div class="controls">
        <Search page={page} label={caption} />
        <Pager list={rows} size={PAGE_SIZE} cursors={cursors} onChange={(next) => page.go({ cursors: next })} />
        <button type="button" disabled={isRunning} onClick={save}>
          Download CSV
        </button>
      </div>
      {problem !== undefined && <p role="alert">{problem}</p>}
      <Table
        caption={caption}
        columns={columns}
        rows={rows.data}
        rowKey={(row) => entryOf(row).id}
        sort={sort}
        onSort={(next) => page.go({ sort: next })}
      />
      {rows.data.length === 0 && <p class="note">{q === undefined ? "None yet." : "Nothing matches the search."}</p>}
    </>
  );
}
