import type { VNode } from "preact";
import { Sparkline } from "../chart/sparkline.js";
import type { Fetched, WantedSeries } from "../fetch-series.js";
import { changeOf, type Moved } from "../figures.js";
import { amount, type Unit } from "../format.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import type { Page } from "../view.js";
import { type Entry, type EntryList, type EntryRow, entryOf } from "./entries.js";
import type { Column } from "./table.js";
import { seriesOf } from "./wanted.js";

/** The name of an entry, which leads to its page. */
export function nameColumn<L extends EntryList>(head: string, list: L, page: Page): Column<EntryRow<L> | Entry> {
  return {
    head,
    sort: "name",
    cell: (row) => {
      const { id, name } = entryOf(row);
      return (
        <Link to={{ view: list, id }} page={page}>
          {name}
        </Link>
      );
    },
  };
}

/** The change of a row in the window of the page. */
export function changeColumn(unit: Unit, page: Page): Column<Moved> {
  return {
    head: `Change, ${rangeOf(page.address)}`,
    sort: "change",
    isNumber: true,
    cell: (row) => changeOf(row, unit, page.zone),
  };
}

/** A small drawing of the series of a row. */
export function trendColumn<R>(trends: Fetched, wanted: (row: R) => WantedSeries): Column<R> {
  return { head: "Trend", cell: (row) => <Sparkline series={seriesOf(trends, wanted(row))} /> };
}

/** A value that programs can read; a dash where there is none. */
export function valueIn(value: number | null | undefined, unit: Unit): VNode | string {
  return value == null ? "–" : <data value={value}>{amount(value, unit)}</data>;
}
