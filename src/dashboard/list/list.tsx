import type { VNode } from "preact";
import type { ListPage, ListRows, PageOf } from "../../client/client.js";
import { csvOfRows } from "../csv.js";
import { countedWindow, sampledWindow } from "../figures.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";
import { Pager } from "./pager.js";
import { Search } from "./search.js";
import { type Column, Table } from "./table.js";

const PAGE_SIZE = 50;
/** Maximum rows of a request, and of a list that is sorted by a figure. */
const MAX_ROWS = 1_000;

/** Methods of the client that yield all rows, by the path of their list. */
const allOf = { segment: "segments", experience: "experiences", stream: "streams" } as const;

interface ListProps<R extends object> {
  /** Path of the list: `segment` for `/api/segment`. */
  readonly path: keyof typeof allOf;
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly list: ListPage<R>;
  readonly rowKey: (row: R) => string;
  readonly page: Page;
}

/** Fetches the page of a list that the view shows. Sorted by a figure, the list has no further pages. */
export async function fetchList<P extends keyof typeof allOf>(path: P, page: Page): Promise<PageOf<P>> {
  const { client, address, signal } = page;
  const query = listQuery(path, page);
  if (isByName(address.sort)) return client.page(path, { ...query, after: address.cursors.at(-1) }, { signal });
  const { data, meta } = await client.page(path, { ...query, limit: MAX_ROWS }, { signal });
  const from = Number(address.cursors.at(-1) ?? 0);
  const to = from + PAGE_SIZE;
  const shown = { data: data.slice(from, to), meta: { ...meta, next: to < data.length ? String(to) : null } };
  return shown as object as PageOf<P>;
}

function isByName(sort: string | undefined): boolean {
  return sort === undefined || /^-?(id|name)$/.test(sort);
}

/** Query of a list for the search, order and window of the view. */
function listQuery(path: keyof ListRows, page: Page): Record<string, string | number | undefined> {
  const { address } = page;
  const { q, sort } = address;
  const isDescending = sort?.startsWith("-") ?? false;
  return {
    limit: PAGE_SIZE,
    q,
    sort: isDescending ? sort?.slice(1) : sort,
    order: sort === undefined ? undefined : isDescending ? "desc" : "asc",
    ...(path === "stream" ? countedWindow(page) : sampledWindow(path, page)),
  };
}

/** A table with search, order, pages and a download of all rows. Search and order are part of the address. */
export function List<R extends object>({ path, caption, columns, list, rowKey, page }: ListProps<R>): VNode {
  const { q, sort, cursors } = page.address;
  const { run, isRunning, problem } = useTask(page);
  const save = () =>
    run(async (signal) => {
      const rows: object[] = [];
      // Further rows are listed by name alone.
      const sortOfAll = list.meta.total > MAX_ROWS && !isByName(sort) ? { sort: "name" } : {};
      const query = { ...listQuery(path, page), limit: MAX_ROWS, ...sortOfAll };
      for await (const row of page.client[allOf[path]](query, { signal })) rows.push(row);
      download(`${path}.csv`, new Blob([csvOfRows(rows)], { type: "text/csv" }));
    });
  return (
    <>
      <div class="controls">
        <Search page={page} label={caption} />
        <Pager list={list} size={PAGE_SIZE} cursors={cursors} onChange={(next) => page.go({ cursors: next })} />
        <button type="button" disabled={isRunning} onClick={save}>
          Download CSV
        </button>
      </div>
      {problem !== undefined && <p role="alert">{problem}</p>}
      <Table
        caption={caption}
        columns={columns}
        rows={list.data}
        rowKey={rowKey}
        sort={sort}
        onSort={(next) => page.go({ sort: next })}
      />
      {list.data.length === 0 && <p class="note">{q === undefined ? "None yet." : "Nothing matches the search."}</p>}
    </>
  );
}
