import type { ComponentChildren, VNode } from "preact";
import type { ListPage } from "../../client/client.js";
import { csvOfRows } from "../csv.js";
import { count } from "../format.js";
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
  /** Order of the list if the address names none. */
  readonly usual: string;
  /** Drawn next to the search. */
  readonly actions?: ComponentChildren;
  readonly page: Page;
}

/** Fetches the page of a list that the view shows. Sorted by a figure, the list has at most `MAX_ROWS` rows. */
export async function fetchList<L extends EntryList>(
  list: L,
  usual: string,
  page: Page,
): Promise<ListPage<EntryRow<L>>> {
  const { sort = usual, cursors } = page.address;
  const query = listQuery(page, sort);
  if (isByName(sort)) return entryPage(list, { ...query, after: cursors.at(-1) }, page);
  const from = Number(cursors.at(-1) ?? 0);
  const to = Math.min(from + PAGE_SIZE, MAX_ROWS);
  const { data, meta } = await entryPage(list, { ...query, limit: to }, page);
  const isLast = to >= Math.min(meta.total, MAX_ROWS);
  return { data: data.slice(from), meta: { ...meta, next: isLast ? null : String(to) } };
}

const isByName = (sort: string): boolean => /^-?(id|name)$/.test(sort);

/** Query of a list for the search of the view, in an order. */
function listQuery({ address: { q } }: Page, sort: string) {
  const isDescending = sort.startsWith("-");
  return { limit: PAGE_SIZE, q, sort: isDescending ? sort.slice(1) : sort, order: isDescending ? "desc" : "asc" };
}

/** A table with search, order, pages and a download of all rows. Search and order are part of the address. */
export function List<L extends EntryList>(props: ListProps<L>): VNode {
  const { list, caption, columns, rows, usual, actions, page } = props;
  const { q, sort = usual, cursors } = page.address;
  const isCut = rows.meta.total > MAX_ROWS && !isByName(sort);
  const { run, isRunning, problem } = useTask();
  const save = () =>
    run(async (signal) => {
      const all: object[] = [];
      // Further rows are listed by name alone.
      const query = { ...listQuery(page, isCut ? "name" : sort), ...windowOfList(list, page), limit: MAX_ROWS };
      for await (const row of page.client[allOf[list]](query, { signal })) all.push(row);
      download(`${list}.csv`, new Blob([csvOfRows(all)], { type: "text/csv" }));
    });
  return (
    <>
      <div class="controls">
        <Search page={page} label={caption} />
        {actions}
        <button type="button" data-key="s" disabled={isRunning} onClick={save}>
          Download CSV
        </button>
        <Pager list={rows} size={PAGE_SIZE} cursors={cursors} onChange={(next) => page.go({ cursors: next })} />
      </div>
      {problem !== undefined && <p role="alert">{problem}</p>}
      <Table
        class="list"
        caption={caption}
        columns={columns}
        rows={rows.data}
        rowKey={(row) => entryOf(row).id}
        sort={sort}
        onSort={(next) => page.go({ sort: next })}
      />
      {rows.data.length === 0 && <p class="note">{q === undefined ? "None yet." : "Nothing matches the search."}</p>}
      {isCut && rows.meta.next === null && (
        <p class="note">These are the first {count(MAX_ROWS)} in this order. Sorted by name, the list has all.</p>
      )}
    </>
  );
}
