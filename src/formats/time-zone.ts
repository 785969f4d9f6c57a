/** 24 hours, ms. */
export const DAY = 86_400_000;

/**
 * A zone of the IANA time zone database. A local time is written as the Unix ms at which a clock in UTC shows it. All
 * in ms.
 */
export interface TimeZone {
  readonly name: string;
  /** Returns the local time at an instant. */
  local(at: number): number;
  /** Returns the first instant at which the clock shows a local time, or a later one if it leaves this time out. */
  instant(local: number): number;
  /** Returns the end of a time from an instant on in which the offset does not change. */
  steadyUntil(at: number): number;
}

export const utc: TimeZone = {
  name: "UTC",
  local: (at) => at,
  instant: (local) => local,
  steadyUntil: () => Number.POSITIVE_INFINITY,
};

/** The zones by their names and other spellings of these, in lower case: about 600. */
const zones = new Map<string, TimeZone>([[utc.name.toLowerCase(), utc]]);

/** Returns the zone with this name; undefined if there is none. Each zone has one object. */
export function timeZone(name: string): TimeZone | undefined {
  if (!NAME.test(name)) return undefined;
  const spelling = name.toLowerCase();
  const known = zones.get(spelling);
  if (known !== undefined) return known;
  const format = offsetFormat(name);
  if (format === undefined) return undefined;
  // The runtime lists no aliases, so each one is resolved when it is first used.
  const resolved = format.resolvedOptions().timeZone;
  const zone = zones.get(resolved.toLowerCase()) ?? new OffsetZone(resolved, format);
  zones.set(resolved.toLowerCase(), zone).set(spelling, zone);
  return zone;
}

/** A name, of which the longest has 32 characters. Letters outside of ASCII may be equal to others in lower case. */
const NAME = /^[A-Za-z][\w+/-]{1,39}$/;

function offsetFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  if (timeZone.length === 3 && !SHORT_NAMES.test(timeZone)) return undefined;
  try {
    // With the weekday a text is made in half the time of one with the date.
    return new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset", weekday: "narrow" });
  } catch {
    return undefined;
  }
}

/**
 * The names of three letters. Runtimes also accept offsets such as +01:00, and abbreviations with unexpected meanings:
 * BST is the time of Bangladesh.
 */
const SHORT_NAMES = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i;

/** Length of a span, ms: no zone has changed its offset twice within 6 days. */
const SPAN = 4 * DAY;

/** Maximum spans of all zones in memory, of about 110 bytes each. 44 years of a zone have 4,018. */
const MAX_SPANS = 100_000;

/** The spans of each zone, and their number. */
const spansOfZones: Map<number, Span>[] = [];
let spanCount = 0;

/** The offset at the start of a span, and from an instant in it on. */
interface Span {
  readonly before: number;
  readonly changesAt: number;
  readonly after: number;
}

/** A zone whose offsets are looked up once per span: the runtime takes 0.6 µs for one. */
class OffsetZone implements TimeZone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #spans = new Map<number, Span>();

  constructor(name: string, format: Intl.DateTimeFormat) {
    this.name = name;
    this.#format = format;
    spansOfZones.push(this.#spans);
  }

  local(at: number): number {
    return at + this.#offset(at);
  }

  instant(local: number): number {
    // No offset is as long as a day.
    let at = local - DAY;
    for (;;) {
      const found = Math.max(at, local - this.#offset(at));
      const until = this.steadyUntil(at);
      if (found < until) return found;
      at = until;
    }
  }

  steadyUntil(at: number): number {
    const index = Math.floor(at / SPAN);
    const { changesAt } = this.#span(index);
    return at < changesAt ? changesAt : (index + 1) * SPAN;
  }

  #offset(at: number): number {
    const { before, changesAt, after } = this.#span(Math.floor(at / SPAN));
    return at < changesAt ? before : after;
  }

  #span(index: number): Span {
    const known = this.#spans.get(index);
    if (known !== undefined) return known;
    const end = (index + 1) * SPAN;
    const [before, after] = [this.#read(index * SPAN), this.#read(end)];
    const span = { before, changesAt: before === after ? end : this.#changeIn(index * SPAN, end, before), after };
    if (spanCount >= MAX_SPANS) forgetSpans();
    this.#spans.set(index, span);
    spanCount += 1;
    return span;
  }

  /** Returns the instant of the change, a whole second, in a span that begins with another offset than it ends with. */
  #changeIn(start: number, end: number, before: number): number {
    let [low, high] = [start / 1000, end / 1000];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#read(middle * 1000) === before) low = middle;
      else high = middle;
    }
    return high * 1000;
  }

  /** Reads the offset at an instant: `T, GMT-00:44:30` is −44.5 minutes. */
  #read(at: number): number {
    const [, sign, hours, minutes, seconds = "0"] = OFFSET.exec(this.#format.format(at)) ?? [];
    if (hours === undefined) return 0;
    const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
    return sign === "-" ? -ms : ms;
  }
}

function forgetSpans(): void {
  for (const spans of spansOfZones) spans.clear();
  spanCount = 0;
}

const OFFSET = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/;
