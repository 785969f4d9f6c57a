import { parseMoment } from "../../metrics/moment.js";

/** Numbers below this are seconds since 1970 (until the year 5138), others are ms (from 1973 on). */
const SECONDS_BELOW = 1e11;

/**
 * Reads times as files hold them: RFC 3339, `YYYY-MM-DD HH:MM:SS` (UTC), a date, epoch seconds or ms as text or number.
 * Answers Unix ms, or NaN for what is none of these. The same text twice in a row costs nothing.
 */
export function momentReader(): (written: unknown) => number {
  let lastText = "";
  let lastMs = Number.NaN;
  return (written) => {
    if (typeof written === "number") return epoch(written);
    if (typeof written !== "string") return Number.NaN;
    if (written !== lastText) {
      lastText = written;
      lastMs = parseText(written.trim());
    }
    return lastMs;
  };
}

function parseText(text: string): number {
  if (/^\d{1,16}(\.\d{1,9})?$/.test(text)) return epoch(Number(text));
  if (text.startsWith("now")) return Number.NaN;
  const rfc = text[10] === " " ? `${text.slice(0, 10)}T${text.slice(11)}` : text;
  return (parseMoment(rfc, 0) ?? parseMoment(`${rfc}:00`, 0))?.at ?? Number.NaN;
}

function epoch(value: number): number {
  if (!Number.isFinite(value)) return Number.NaN;
  return Math.floor(value < SECONDS_BELOW ? value * 1000 : value);
}
