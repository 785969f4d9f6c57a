import { closeSync, openSync, writeSync } from "node:fs";
import type { Client } from "../client/client.js";
import { StartError } from "../errors.js";
import { inputBytes, isSameFile } from "./input-file.js";
import { type Progress, type ProgressOptions, withProgress } from "./progress.js";
import { InterruptedError, inWords, onInterrupt, REJECTED, UsageError } from "./run-command.js";
import { requireKey, serviceClient, serviceUrl } from "./running-service.js";

/** Context of a command that sends files to a service. */
export interface Sending {
  readonly client: Client;
  readonly rejections: Rejections;
  /** Aborted when the command is asked to stop. */
  readonly signal: AbortSignal;
  /** Bytes of all files; undefined when one of them is a stream. */
  readonly bytes: number | undefined;
  /** Runs a stage of the work and shows its progress; rejections are written above it. */
  stage<T>(label: string, options: ProgressOptions, work: (progress: Progress) => Promise<T>): Promise<T>;
}

export interface SendOptions {
  readonly url?: string;
  readonly rejects?: string;
  /** Default: stdout. */
  readonly summaryTo?: NodeJS.WritableStream;
}

/**
 * Runs a command that sends files. `send` resolves with a summary, which is printed with the number of rejections.
 * Resolves with the exit code.
 */
export async function sendFiles(
  files: readonly string[],
  options: SendOptions,
  send: (sending: Sending) => Promise<string>,
): Promise<number> {
  const bytes = inputBytes(files);
  const stop = new AbortController();
  const { signal } = stop;
  onInterrupt(() => {
    stop.abort();
    // A read of stdin has no time limit.
    if (files.includes("-")) process.stdin.destroy();
  });
  let shown: Progress | undefined;
  const say = (line: string) => (shown === undefined ? process.stderr.write(`${line}\n`) : shown.say(line));
  const client = serviceClient(serviceUrl(options.url, process.env), requireKey(process.env.ENTITY_METRICS_KEY), say);
  const rejections = new Rejections(files, options.rejects, say);
  const stage: Sending["stage"] = (label, progressOptions, work) =>
    withProgress(label, progressOptions, (progress) => {
      shown = progress;
      return work(progress);
    });
  try {
    const summary = await send({ client, rejections, signal, bytes, stage });
    const { summaryTo = process.stdout } = options;
    summaryTo.write(`${summary}${rejections.count === 0 ? "" : `, ${rejections.count} rejected`}\n`);
    return rejections.count === 0 ? 0 : REJECTED;
  } finally {
    rejections.close();
  }
}

/** Returns the error to report. `place` contains the progress of the command and the effect of a second run. */
export function endedAt(place: string, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return new InterruptedError(`Stopped. ${place}`, { cause: error });
  const known = inWords(error);
  return known instanceof StartError ? new StartError(`${known.message}. ${place}`, { cause: error }) : known;
}

/** Reason of a rejection: a code for programs, a sentence for people. */
export interface LineIssue {
  readonly code: string;
  readonly message: string;
}

/** Maximum rejections reported individually. */
const MAX_REPORTED = 20;

/** Upper bound of the lines in a file. */
const LINES = 2 ** 40;

/** Returns a number for a file and a line of it. */
export function origin(file: number, line: number): number {
  return file * LINES + line;
}

/**
 * Collects rejections by file and line, in order of occurrence. The first ones go to stderr, all of them to the file of
 * `--rejects` as JSON lines `{ line, code, message }`, with `file` when several files were read.
 */
export class Rejections {
  readonly #files: readonly string[];
  readonly #list: { readonly name: string; readonly handle: number } | undefined;
  readonly #say: (line: string) => void;
  #count = 0;

  /** Empties the file `rejects`; `say` receives a line for each of the first rejections. */
  constructor(files: readonly string[], rejects: string | undefined, say: (line: string) => void) {
    this.#files = files;
    this.#say = say;
    if (rejects === undefined) return;
    if (files.some((file) => isSameFile(file, rejects))) {
      throw new UsageError("--rejects is one of the input files and would be overwritten");
    }
    this.#list = { name: rejects, handle: openForWriting(rejects) };
  }

  get count(): number {
    return this.#count;
  }

  add(at: number, { code, message }: LineIssue): void {
    this.#count += 1;
    const file = this.#files[Math.floor(at / LINES)];
    const line = at % LINES;
    const rejection = { ...(this.#files.length > 1 ? { file } : {}), line, code, message };
    if (this.#list !== undefined) writeSync(this.#list.handle, `${JSON.stringify(rejection)}\n`);
    if (this.#count <= MAX_REPORTED) this.#say(`${file}:${line}: rejected: ${message}`);
    else if (this.#count === MAX_REPORTED + 1) {
      const where = this.#list === undefined ? "--rejects FILE lists" : `${this.#list.name} has`;
      this.#say(`more than ${MAX_REPORTED} rejections; ${where} all of them`);
    }
  }

  /** Call once, at the end. */
  close(): void {
    if (this.#list !== undefined) closeSync(this.#list.handle);
  }
}

function openForWriting(path: string): number {
  try {
    return openSync(path, "w");
  } catch (error) {
    throw new StartError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code})`, { cause: error });
  }
}
