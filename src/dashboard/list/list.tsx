import type { VNode } from "preact";
import type { ListPage, ListRows } from "../../client/client.js";
import { csvOfRows } from "../csv.js";
import { countedWindow, sampledWindow } from "../figures.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";
import { Pager } from "./pager.js";
import { Search } from "./search.js";
import { type Column, Table } from "./table.js";

const PAGE_SIZE = 50;
/** Rows of a request for a download. */
const ALL_AT_ONCE = 1_000;

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

/** Query of a list for the search, order, page and window of the view. */
export function listQuery(path: keyof ListRows, page: Page): Record<string, string | number | undefined> {
  const { address } = page;
  const { q, sort, cursors } = address;
  const isDescending = sort?.startsWith("-") ?? false;
  return {
    limit: PAGE_SIZE,
    q,
    sort: isDescending ? sort?.slice(1) : sort,
    order: sort === undefined ? undefined : isDescending ? "desc" : "asc",
    after: cursors.at(-1),
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
      const query = { ...listQuery(path, page), limit: ALL_AT_ONCE, after: undefined };
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
