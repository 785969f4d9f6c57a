import { type Command, Option } from "commander";
import { durationRule, parseDuration } from "../formats/duration.js";
import type { KeyBounds, Scope } from "../keys/api-key.js";
import { unboundableScopes } from "../keys/bounds.js";
import { streamNamePattern, streamNameRule } from "../reserved-names.js";
import { UsageError } from "./run-command.js";

/** Values of the options as given. */
export interface BoundOptions {
  readonly stream?: string;
  readonly eventStreams?: true;
  readonly fields?: string;
  readonly by?: string;
  readonly origins?: string;
  readonly rate?: string;
  readonly expires?: string;
}

const descriptions: Readonly<Record<keyof BoundOptions, readonly [flags: string, description: string]>> = {
  stream: ["--stream <stream>", "bound of a new key: the only stream that it writes to, as messages or points"],
  eventStreams: ["--event-streams", "count the events of Segment's API for streams of their own, <stream>.<event>"],
  fields: [
    "--fields <fields>",
    "bound: attributes that reads return, separated by commas; segments and meta count as names",
  ],
  by: ["--by <field>", "bound: the only identity field that reads and messages use, in every table"],
  origins: [
    "--origins <origins>",
    "bound: origins whose pages may use it, separated by commas, such as https://www.example.com",
  ],
  rate: ["--rate <requests>", "bound: maximum requests per minute"],
  expires: ["--expires <duration>", "bound: time until it is refused, such as 90d"],
};

const names = Object.keys(descriptions) as (keyof BoundOptions)[];

/** Adds an option for each bound. */
export function addBoundOptions(command: Command): void {
  for (const name of names) {
    const [flags, description] = descriptions[name];
    command.addOption(new Option(flags, description).argParser(once(name)));
  }
}

/** Refuses an option that is given twice: commander would take the last one. */
function once(name: string): (value: string, earlier: string | undefined) => string {
  return (value, earlier) => {
    if (earlier === undefined) return value;
    throw new UsageError(`--${name} is given twice`);
  };
}

/** Returns the first option of a bound that is given, such as `--rate`. */
export function givenBound(options: BoundOptions): string | undefined {
  const given = names.find((name) => options[name] !== undefined);
  return given && descriptions[given][0].split(" ")[0];
}

/**
 * Returns the bounds of a new key. `now` is Unix ms; `identityFields` are the fields of all tables. Throws
 * `UsageError`.
 */
export function readBounds(
  options: BoundOptions,
  scopes: readonly Scope[],
  now: number,
  identityFields: readonly string[],
): KeyBounds {
  const { stream, eventStreams, fields, by, origins, rate, expires } = options;
  const ofData = (["stream", "fields", "by"] as const).find((name) => options[name] !== undefined);
  const unboundable = scopes.filter((scope) => unboundableScopes.includes(scope));
  if (ofData !== undefined && unboundable.length > 0) {
    throw new UsageError(`--${ofData} cannot be combined with ${unboundable.join(", ")}, which it would not limit`);
  }
  return {
    ...(stream === undefined ? {} : { stream: readStream(stream) }),
    ...(eventStreams === undefined ? {} : { eventStreams }),
    ...(fields === undefined ? {} : { fields: readFields(fields) }),
    ...(by === undefined ? {} : { by: readField(by, identityFields) }),
    ...(origins === undefined ? {} : { origins: readOrigins(origins) }),
    ...(rate === undefined ? {} : { rate: readRate(rate) }),
    ...(expires === undefined ? {} : { expiresAt: now + readDuration(expires) }),
  };
}

function readStream(text: string): string {
  if (!new RegExp(streamNamePattern).test(text)) throw new UsageError(`--stream: ${streamNameRule}`);
  return text;
}

const ATTRIBUTE = /^\P{Cc}{1,256}$/u;

function readFields(text: string): string[] {
  const fields = listIn(text);
  if (fields.every((name) => ATTRIBUTE.test(name))) return fields;
  throw new UsageError("--fields takes names of 1 to 256 characters without control characters, separated by commas");
}

function readField(text: string, known: readonly string[]): string {
  if (known.includes(text)) return text;
  throw new UsageError(`--by takes an identity field of a table: ${known.join(", ")}`);
}

/** Returns origins as browsers send them: https://A.example:443 becomes https://a.example. */
function readOrigins(text: string): string[] {
  const origins = listIn(text).map((one) => {
    const url = /^https?:\/\/[^/?#@*\\\s]+\/?$/i.test(one) && URL.canParse(one) ? new URL(one) : undefined;
    if (url !== undefined) return url.origin;
    throw new UsageError("--origins takes http:// or https:// with a host and no path, separated by commas");
  });
  return [...new Set(origins)];
}

const MAX_REQUESTS = 1_000_000_000;

function readRate(text: string): number {
  const rate = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : Number.NaN;
  if (rate <= MAX_REQUESTS) return rate;
  throw new UsageError(`--rate takes a whole number from 1 to ${MAX_REQUESTS}`);
}

function readDuration(text: string): number {
  const duration = parseDuration(text);
  if (duration === undefined) throw new UsageError(`--expires must be ${durationRule}`);
  return duration.ms;
}

function listIn(text: string): string[] {
  return [...new Set(text.split(",").map((one) => one.trim()))];
}
