import type { VNode } from "preact";
import { Sparkline } from "../chart/sparkline.js";
import type { Fetched, WantedSeries } from "../fetch-series.js";
import type { Moved } from "../figures.js";
import { amount, shortAmount, type Unit } from "../format.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import type { Page } from "../view.js";
import { type Entry, type EntryList, type EntryRow, entryOf } from "./entries.js";
import { ChangePill } from "./pill.js";
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
    cell: (row) => <ChangePill change={{ ...row, unit }} zone={page.zone} />,
  };
}

/** A small drawing of the series of a row. */
export function trendColumn<R>(trends: Fetched, wanted: (row: R) => WantedSeries): Column<R> {
  return { head: "Trend", cell: (row) => <Sparkline series={seriesOf(trends, wanted(row))} /> };
}

/** A value that programs can read, in its short form; a dash where there is none. */
export function valueIn(value: number | null | undefined, unit: Unit): VNode | string {
  if (value == null) return "–";
  const [short, full] = [shortAmount(value, unit), amount(value, unit)];
  return (
    <data value={value} title={short === full ? undefined : full}>
      {short}
    </data>
  );
}
