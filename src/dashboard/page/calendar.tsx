import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { windowName } from "../range.js";
import { dayBy, firstOf, monthsLater, weeksOf } from "./days.js";

interface CalendarProps {
  /** First and last day of the window, `2026-11-23`. */
  readonly first: string;
  readonly last: string;
  readonly onPick: (first: string, last: string) => void;
}

const WEEKDAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"] as const;

/**
 * A month whose weeks begin on Monday. The first day that is picked begins a window, the second one ends it. One day is
 * a stop of Tab; arrows, Home, End, Page Up and Page Down lead from it to the others.
 */
export function Calendar({ first, last, onPick }: CalendarProps): VNode {
  const [at, setAt] = useState(last);
  const [picked, setPicked] = useState<string>();
  const grid = useRef<HTMLTableElement>(null);
  const hasMoved = useRef(false);
  // A key moves the focus to the other day; a button of the months keeps it.
  useLayoutEffect(() => {
    if (hasMoved.current) grid.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
    hasMoved.current = false;
  }, [at]);
  const month = at.slice(0, 7);
  const pick = (day: string) => {
    setAt(day);
    setPicked(picked === undefined ? day : undefined);
    if (picked !== undefined) onPick(...((picked < day ? [picked, day] : [day, picked]) as [string, string]));
  };
  const isIn = (day: string) => (picked === undefined ? first <= day && day <= last : day === picked);
  const onKeyDown = (event: KeyboardEvent) => {
    const day = dayBy(event.key, at);
    if (day === undefined) return;
    event.preventDefault();
    hasMoved.current = true;
    setAt(day);
  };
  const turn = (label: string, sign: string, months: number) => (
    <button type="button" class="icon" aria-label={label} onClick={() => setAt(monthsLater(at, months))}>
      {sign}
    </button>
  );
  return (
    <div class="calendar">
      <p class="controls">
        {turn("Month before", "‹", -1)}
        <b aria-live="polite">{windowName({ from: firstOf(month, 0), to: firstOf(month, 1) }, "UTC")}</b>
        {turn("Month after", "›", 1)}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid is a table whose cells take the focus. */}
      <table ref={grid} role="grid" aria-label="Days" onKeyDown={onKeyDown}>
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
          {weeksOf(month).map((days) => (
            <tr key={days[0]}>
              {days.map((day) => (
                <td key={day}>
                  <button
                    type="button"
                    class={day.startsWith(month) ? "icon own" : "icon"}
                    aria-pressed={isIn(day)}
                    tabIndex={day === at ? 0 : -1}
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
