import { type Earlier, spanBefore } from "./calendar.js";
import { parseRange } from "./duration.js";
import { type TimeZone, utc } from "./time-zone.js";

/** A parsed instant, Unix ms. A relative one is `ago` before now; for `now` itself `ago` is absent. */
export interface Instant extends Partial<Earlier> {
  readonly at: number;
  readonly relative: boolean;
  readonly ago?: string;
}

/** Formats of an absolute instant. The parser and every error message use this list. */
const forms: readonly { readonly words: string; read(text: string, zone: TimeZone): number | undefined }[] = [
  { words: "RFC 3339 time (with T or a blank)", read: parseTime },
  { words: "a date as YYYY-MM-DD", read: parseDate },
  { words: "epoch milliseconds (13 digits) or seconds (10)", read: parseEpoch },
];

/** Format of such an instant, to follow "an". */
export const instantForms = forms.map(({ words }) => words).join(", ");

/** Format of an instant, for error messages. */
export const instantRule = `an ${instantForms}, now, or now-<n><unit>`;

/** Formats of `instantReader`, as text. */
export const fileInstantForms = "RFC 3339, YYYY-MM-DD HH:MM:SS (UTC), epoch seconds or milliseconds";

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,30}))?(?:[Zz]|([+\- ])(\d\d):(\d\d))?$/;
const EPOCH = /^(?:\d{10}|\d{13})$/;

/** Maximum length of an instant. */
const MAX_TEXT_LENGTH = 64;

/**
 * Parses an instant from a text or a JSON number: RFC 3339 (UTC if it has no offset; a blank in place of an offset's
 * sign is a `+` that was lost in a URL; a leap second `:60` is the first second of the next minute), a date (its first
 * moment in the zone), epoch ms (13 digits) or s (10 digits), `now`, or `now-<n><unit>`. Undefined for anything else.
 */
export function parseInstant(written: string | number, now: number, zone: TimeZone = utc): Instant | undefined {
  const text = String(written);
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  if (text === "now") return { at: now, relative: true };
  if (text.startsWith("now-")) {
    const ago = parseRange(text.slice(4));
    return ago && { ...spanBefore(now, ago, zone), relative: true, ago: ago.text };
  }
  const at = parseAbsoluteInstant(written, zone);
  return at === undefined ? undefined : { at, relative: false };
}

/** Parses an instant as `parseInstant` does, without the relative formats. Returns Unix ms. */
export function parseAbsoluteInstant(written: string | number, zone: TimeZone = utc): number | undefined {
  if (typeof written === "number") return parseEpoch(String(written));
  if (written.length > MAX_TEXT_LENGTH) return undefined;
  for (const { read } of forms) {
    const at = read(written, zone);
    if (at !== undefined) return at;
  }
  return undefined;
}

/** Formats an instant, Unix ms, as RFC 3339 in UTC, with milliseconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

function parseEpoch(text: string): number | undefined {
  return EPOCH.test(text) ? Number(text) * (text.length === 10 ? 1000 : 1) : undefined;
}

function parseDate(text: string, zone: TimeZone): number | undefined {
  const match = DATE.exec(text);
  const day = match === null ? undefined : midnight(Number(match[1]), Number(match[2]), Number(match[3]));
  return day === undefined ? undefined : zone.instant(day);
}

function parseTime(text: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [hour, minute, second] = [Number(match[4]), Number(match[5]), Number(match[6])];
  const [offsetHour, offsetMinute] = [Number(match[9] ?? 0), Number(match[10] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const day = midnight(Number(match[1]), Number(match[2]), Number(match[3]));
  if (day === undefined) return undefined;
  const fraction = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const offset = (offsetHour * 60 + offsetMinute) * (match[8] === "-" ? -60_000 : 60_000);
  return day + ((hour * 60 + minute) * 60 + second) * 1000 + fraction - offset;
}

/** Returns 00:00 UTC of a day of the Gregorian calendar; undefined for an invalid day. */
function midnight(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  const at = date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? at : undefined;
}

/** Numbers below this are seconds since 1970 (until the year 5138), others are ms (from 1973 on). */
const SECONDS_BELOW = 1e11;

/**
 * Returns a parser for times in files: RFC 3339, `YYYY-MM-DD HH:MM:SS` (UTC), a date, epoch seconds or ms as text or
 * number. It returns Unix ms, or NaN for anything else. The last text is cached.
 */
export function instantReader(): (written: unknown) => number {
  let lastText = "";
  let lastMs = Number.NaN;
  return (written) => {
    if (typeof written === "number") return epoch(written);
    if (typeof written !== "string") return Number.NaN;
    if (written !== lastText) {
      lastText = written;
      lastMs = parseLoosely(written.trim());
    }
    return lastMs;
  };
}

function parseLoosely(text: string): number {
  if (/^\d{1,16}(\.\d{1,9})?$/.test(text)) return epoch(Number(text));
  if (text.startsWith("now")) return Number.NaN;
  return (parseInstant(text, 0) ?? parseInstant(`${text}:00`, 0))?.at ?? Number.NaN;
}

function epoch(value: number): number {
  if (!Number.isFinite(value)) return Number.NaN;
  return Math.floor(value < SECONDS_BELOW ? value * 1000 : value);
}
