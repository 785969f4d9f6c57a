import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { DAY } from "../duration.js";
import { windowName } from "../range.js";
import { dayAfter } from "./moment.js";

interface CalendarProps {
  /** First and last day of the window, `2026-11-23`. */
  readonly first: string;
  readonly last: string;
  readonly onPick: (first: string, last: string) => void;
}

const WEEKDAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"] as const;

/** A month whose weeks begin on Monday. The first day that is picked begins a window, the second one ends it. */
export function Calendar({ first, last, onPick }: CalendarProps): VNode {
  const [month, setMonth] = useState(last.slice(0, 7));
  const [picked, setPicked] = useState<string>();
  const weeks = weeksOf(month);
  const start = Date.parse(`${month}-01`);
  const nextMonth = monthOf(start + 32 * DAY);
  const pick = (day: string) => {
    setPicked(picked === undefined ? day : undefined);
    if (picked !== undefined) onPick(...((picked < day ? [picked, day] : [day, picked]) as [string, string]));
  };
  const isIn = (day: string) => (picked === undefined ? first <= day && day <= last : day === picked);
  const turn = (label: string, sign: string, to: string) => (
    <button type="button" class="icon" aria-label={label} onClick={() => setMonth(to)}>
      {sign}
    </button>
  );
  return (
    <div class="calendar">
      <p class="controls">
        {turn("Month before", "‹", monthOf(start - DAY))}
        <b>{windowName({ from: start, to: Date.parse(`${nextMonth}-01`) }, "UTC")}</b>
        {turn("Month after", "›", nextMonth)}
      </p>
      <table>
        <thead>
          <tr>
            {WEEKDAYS.map((day) => (
              <th key={day} scope="col">
                {day}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((days) => (
            <tr key={days[0]}>
              {days.map((day) => (
                <td key={day}>
                  <button
                    type="button"
                    class={day.startsWith(month) ? "icon own" : "icon"}
                    aria-pressed={isIn(day)}
                    onClick={() => pick(day)}
                  >
                    <time dateTime={day}>{Number(day.slice(8))}</time>
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">{picked === undefined ? "Pick a first and a last day." : "Pick the last day."}</p>
    </div>
  );
}

const monthOf = (ms: number) => new Date(ms).toISOString().slice(0, 7);

/** Weeks with a day of the month, from Monday on. */
function weeksOf(month: string): string[][] {
  const start = new Date(`${month}-01`);
  let day = new Date(start.getTime() - ((start.getUTCDay() + 6) % 7) * DAY).toISOString().slice(0, 10);
  const weeks: string[][] = [];
  while (day.slice(0, 7) <= month) {
    const days: string[] = [];
    for (let i = 0; i < 7; i += 1, day = dayAfter(day)) days.push(day);
    weeks.push(days);
  }
  return weeks;
}
