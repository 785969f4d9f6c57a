const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A local date as the days from 1970-01-01, and its first moment, Unix ms. */
export interface LocalDay {
  readonly date: number;
  readonly start: number;
}

/** Returns the local dates of a zone that begin in [from, to), found by looking at its clock again and again. */
export function localDays(timeZone: string, from: number, to: number): LocalDay[] {
  const clock = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  const dateAt = (ms: number) => Date.parse(clock.format(ms)) / (24 * HOUR);
  const days: LocalDay[] = [];
  let date = dateAt(from);

  /** Returns the first moment of a later date. */
  function nextDate(after: number): number {
    const usual = after + 24 * HOUR;
    if (dateAt(usual - MINUTE) <= date && dateAt(usual) > date) return usual;
    // No date takes less than 22 hours, nor does any end twice in an hour.
    let hour = days.length === 0 ? after + HOUR : after + 22 * HOUR;
    while (dateAt(hour) <= date) hour += HOUR;
    let [before, first] = [hour - HOUR, hour];
    while (first - before > MINUTE) {
      const middle = before + Math.floor((first - before) / MINUTE / 2) * MINUTE;
      if (dateAt(middle) > date) first = middle;
      else before = middle;
    }
    return first;
  }

  for (let at = from; ; ) {
    const start = nextDate(at);
    if (start >= to) return days;
    date = dateAt(start);
    days.push({ date, start });
    at = start;
  }
}
