import { aheadIssue } from "../../entities/collect/parse-message.js";
import type { Json } from "../../entities/profile/entity-document.js";
import { parseInstant } from "../../formats/instant.js";
import type { LeaveOut } from "./storable.js";

/** The times of a call. */
interface CallTimes {
  readonly timestamp?: Json;
  readonly originalTimestamp?: Json;
  readonly sentAt?: Json;
}

/** A sender's clock is ahead if it shows more than this after the arrival, ms. */
const CLOCK_AHEAD_MS = 60_000;

/**
 * Returns the event time of a call, Unix ms; undefined for a call without a time that can be used. `arrival` is the
 * time of arrival and `batchSentAt` the `sentAt` of the batch. Only a clock that is ahead is corrected: an event that
 * was kept until it could be sent does not become newer.
 */
export function eventTimeOf(
  { timestamp, originalTimestamp, sentAt }: CallTimes,
  arrival: number,
  batchSentAt: number | undefined,
  leaveOut: LeaveOut,
): number | undefined {
  // With both times, a server has corrected the first one.
  for (const { written, isCorrected } of [
    { written: timestamp, isCorrected: isGiven(originalTimestamp) },
    { written: originalTimestamp, isCorrected: false },
  ]) {
    const instant = instantOf(written, leaveOut);
    if (instant === undefined) continue;
    const ahead = isCorrected ? 0 : (instantOf(sentAt, leaveOut) ?? batchSentAt ?? arrival) - arrival;
    const time = ahead > CLOCK_AHEAD_MS ? instant - ahead : instant;
    if (time < 0) leaveOut("invalid_time");
    else if (aheadIssue({ time }, arrival) !== undefined) leaveOut("time_ahead");
    else return time;
  }
  return undefined;
}

/** Returns the instant of a value, Unix ms; undefined if it is absent or cannot be used. */
export function instantOf(written: Json | undefined, leaveOut: LeaveOut): number | undefined {
  if (!isGiven(written)) return undefined;
  const text = typeof written === "string" ? written.trim().replace(CALL_TIME, rfc3339) : written;
  const instant = typeof text === "string" || typeof text === "number" ? parseInstant(text, 0) : undefined;
  if (instant !== undefined && !instant.relative) return instant.at;
  leaveOut("invalid_time");
  return undefined;
}

/**
 * RFC 3339, also without seconds, with a comma as decimal sign, with an offset of four or two digits, with a blank
 * before the offset, and with `UTC` as offset.
 */
const CALL_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?:(:\d\d)([.,]\d{1,30})?)?(?: ?(?:([Zz]|UTC)|([+-]\d\d)(?::?(\d\d))?))?$/;

function rfc3339(
  _: string,
  date: string,
  time: string,
  seconds = ":00",
  fraction = "",
  utc = "",
  hours = "",
  minutes = "00",
): string {
  const offset = hours === "" ? utc && "Z" : `${hours}:${minutes}`;
  return `${date}T${time}${seconds}${fraction.replace(",", ".")}${offset}`;
}

/** SDKs send null or an empty text for a value that they do not have. */
export function isGiven<V extends Json>(value: V | undefined): value is Exclude<V, null> {
  return value !== undefined && value !== null && value !== "";
}
