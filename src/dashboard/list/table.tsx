import type { ComponentChildren, VNode } from "preact";
import { Scroll } from "../page/scroll.js";

export interface Column<R> {
  readonly head: string;
  /** Name by which the service sorts; absent when it cannot. */
  readonly sort?: string;
  readonly isNumber?: boolean;
  /** Place in a row of a list on a phone: next to the name, or none. By default it is in the second line. */
  readonly phone?: "first" | "none" | undefined;
  cell(row: R): ComponentChildren;
}

interface TableProps<R> {
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly rowKey: (row: R) => string;
  /** Sorted column, with `-` if descending; undefined if the table cannot be sorted. */
  readonly sort?: string | undefined;
  readonly onSort?: (sort: string) => void;
  readonly class?: string;
}

/** Columns that fit into a phone. With more, each row of a narrow screen is a card of named values. */
const MAX_PHONE_COLUMNS = 3;

/** A table whose first column names the row. Numbers are aligned right, under right-aligned heads. */
export function Table<R>({ caption, columns, rows, rowKey, sort, onSort, class: style }: TableProps<R>): VNode {
  return (
    <Scroll label={caption}>
      <table class={style ?? (columns.length > MAX_PHONE_COLUMNS ? "stacked" : undefined)}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.head} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th key={column.head} scope="row">
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.head} data-head={column.head} class={styleOf(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function styleOf({ isNumber, phone }: Pick<Column<never>, "isNumber" | "phone">): string | undefined {
  const styles = [isNumber && "number", phone !== undefined && `phone-${phone}`].filter(Boolean);
  return styles.length === 0 ? undefined : styles.join(" ");
}

interface FactTableProps {
  readonly caption: string;
  readonly heads: readonly [string, string];
  /** Names with their values. */
  readonly rows: readonly (readonly [string, string])[];
}

/** A table of named values. */
export function FactTable({ caption, heads, rows }: FactTableProps): VNode {
  const columns: readonly Column<readonly [string, string]>[] = [
    { head: heads[0], cell: ([name]) => name },
    { head: heads[1], cell: ([, value]) => value },
  ];
  return <Table class="pairs" caption={caption} columns={columns} rows={rows} rowKey={([name]) => name} />;
}

interface HeadProps<R> {
  readonly column: Column<R>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

function Head<R>({ column, sort, onSort }: HeadProps<R>): VNode {
  const { head, sort: own, isNumber = false } = column;
  const style = styleOf(column);
  if (own === undefined || onSort === undefined)
    return (
      <th scope="col" class={style}>
        {head}
      </th>
    );
  const [ascending, descending] = [sort === own, sort === `-${own}`];
  // The first click on a column of numbers puts the largest first.
  const next = ascending || (!descending && isNumber) ? `-${own}` : own;
  return (
    <th scope="col" class={style} aria-sort={ascending ? "ascending" : descending ? "descending" : "none"}>
      <button type="button" class="plain" onClick={() => onSort(next)}>
        {head} <span aria-hidden="true">{ascending ? "↑" : descending ? "↓" : "↕"}</span>
      </button>
    </th>
  );
}
