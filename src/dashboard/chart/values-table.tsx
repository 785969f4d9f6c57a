import type { VNode } from "preact";
import { isUnfinished, type Series } from "../fetch-series.js";
import { amount, fullTime, type Zone } from "../format.js";
import { Scroll } from "../page/scroll.js";
import { zoneName } from "../zone.js";

interface ValuesTableProps {
  readonly caption: string;
  /** Series of one window. */
  readonly series: readonly Series[];
  readonly zone: Zone;
}

/** A row for every bucket of the window, the newest first; an absent value is an empty cell. */
export function ValuesTable({ caption, series, zone }: ValuesTableProps): VNode {
  const window = series[0]?.window;
  const rows = (window?.buckets ?? []).map((ts, index) => ({ ts, index })).reverse();
  return (
    <Scroll label={`${caption}: values`} class="values">
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Time ({zoneName(zone)})</th>
            {series.map((one) => (
              <Heads key={one.name} series={one} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ ts, index }) => (
            <tr key={ts}>
              <th scope="row">
                <time dateTime={new Date(ts).toISOString()}>{fullTime(ts, zone)}</time>
              </th>
              {series.map((one) => (
                <Cells key={one.name} series={one} index={index} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Heads({ series }: { readonly series: Series }): VNode {
  return (
    <>
      <th scope="col" class="number" data-series={series.name}>
        {series.label}
      </th>
      {series.before !== undefined && (
        <th scope="col" class="number" data-series={series.name} data-compare>
          {series.label}, before
        </th>
      )}
    </>
  );
}

function Cells({ series, index }: { readonly series: Series; readonly index: number }): VNode {
  const value = series.values[index];
  const before = series.before?.[index];
  const unfinished = isUnfinished(series, index);
  return (
    <>
      <td class="number" data-unfinished={unfinished || undefined}>
        {value != null && <data value={value}>{amount(value, series.unit)}</data>}
        {unfinished && <span class="note"> not complete</span>}
      </td>
      {series.before !== undefined && (
        <td class="number">{before != null && <data value={before}>{amount(before, series.unit)}</data>}</td>
      )}
    </>
  );
}
