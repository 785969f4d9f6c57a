import type { VNode } from "preact";
import type { ListPage } from "../../client/client.js";
import type { Page } from "../view.js";
import { Pager } from "./pager.js";
import { Search } from "./search.js";
import { type Column, Table } from "./table.js";

const PAGE_SIZE = 50;

interface ListProps<R> {
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly list: ListPage<R>;
  readonly keyOf: (row: R) => string;
  readonly page: Page;
}

/** Query of a list for the search, order and page of the address. */
export function listQuery({ address: { q, sort, cursors } }: Page): Record<string, string | number | undefined> {
  const isDescending = sort?.startsWith("-") ?? false;
  return {
    limit: PAGE_SIZE,
    q,
    sort: isDescending ? sort?.slice(1) : sort,
    order: sort === undefined ? undefined : isDescending ? "desc" : "asc",
    after: cursors.at(-1),
  };
}

/** A table with search, order and pages. Search and order are part of the address. */
export function List<R>({ caption, columns, list, keyOf, page }: ListProps<R>): VNode {
  const { q, sort, cursors } = page.address;
  return (
    <>
      <div class="controls">
        <Search page={page} label={caption} />
        <Pager list={list} size={PAGE_SIZE} cursors={cursors} onChange={(next) => page.go({ cursors: next })} />
      </div>
      <Table
        caption={caption}
        columns={columns}
        rows={list.data}
        keyOf={keyOf}
        sort={sort}
        onSort={(next) => page.go({ sort: next })}
      />
      {list.data.length === 0 && <p class="note">{q === undefined ? "None yet." : "Nothing matches the search."}</p>}
    </>
  );
}
