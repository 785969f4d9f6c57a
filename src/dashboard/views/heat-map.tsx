import type { VNode } from "preact";
import type { Series } from "../fetch-series.js";
import { count, type Zone } from "../format.js";
import { Scroll } from "../page/scroll.js";
import { zoneName } from "../zone.js";
import { DAYS, HOURS, heatOf } from "./heat.js";

interface HeatMapProps {
  /** Hourly values. */
  readonly series: Series | undefined;
  /** Length of their window, which is not the range of the page. */
  readonly weeks: number;
  readonly zone: Zone;
}

/** Mean messages by weekday and hour. Every cell has its value as text, so that colour is not the only sign. */
export function HeatMap({ series, weeks, zone }: HeatMapProps): VNode {
  const { means, hours, silent } = heatOf(series, zone);
  const most = Math.max(1, ...means.flat().filter((mean) => mean !== undefined));
  return (
    <section class="card">
      <h2>
        Messages by weekday and hour{" "}
        <span class="note">
          mean per hour of the last {weeks} weeks · {zoneName(zone)}
          {hours > 0 && ` · ${count(silent)} of ${count(hours)} hours without messages`}
        </span>
      </h2>
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
    </section>
  );
}
