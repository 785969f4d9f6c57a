import type { VNode } from "preact";
import type { Series } from "../fetch-series.js";
import { count, type Zone } from "../format.js";
import { Card } from "../page/card.js";
import { Scroll } from "../page/scroll.js";
import { zoneName } from "../zone.js";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

interface HeatMapProps {
  /** Hourly values. */
  readonly series: Series | undefined;
  readonly zone: Zone;
  readonly days: number;
}

/** Mean messages by weekday and hour. Every cell has its value as text, so that colour is not the only sign. */
export function HeatMap({ series, zone, days }: HeatMapProps): VNode {
  const means = meansOf(series, zone);
  const most = Math.max(1, ...means.flat().filter((mean) => mean !== undefined));
  return (
    <Card title={`Messages per hour by weekday and hour, mean of ${days} days (${zoneName(zone)})`}>
      <Scroll label="Heat map">
        <table class="heat">
          <caption class="hidden">Mean messages per hour</caption>
          <thead>
            <tr>
              <th scope="col">Day</th>
              {HOURS.map((hour) => (
                <th key={hour} scope="col" class="number">
                  {String(hour).padStart(2, "0")}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {DAYS.map((day, row) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                {HOURS.map((hour) => {
                  const mean = means[row]?.[hour];
                  return (
                    <td key={hour} class="number" style={{ "--heat": String((mean ?? 0) / most) }}>
                      {mean !== undefined && <data value={mean}>{count(mean)}</data>}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

/** Mean of the values by weekday (Monday first) and hour; undefined where there is none. */
function meansOf(series: Series | undefined, zone: Zone): (number | undefined)[][] {
  const sums = DAYS.map(() => HOURS.map(() => ({ sum: 0, count: 0 })));
  series?.values.forEach((value, at) => {
    const date = new Date(series.window.buckets[at] as number);
    const [day, hour] = zone === "UTC" ? [date.getUTCDay(), date.getUTCHours()] : [date.getDay(), date.getHours()];
    const cell = sums[(day + 6) % 7]?.[hour];
    if (value === null || cell === undefined) return;
    cell.sum += value;
    cell.count += 1;
  });
  return sums.map((row) => row.map(({ sum, count }) => (count === 0 ? undefined : sum / count)));
}
