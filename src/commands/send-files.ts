import type { Client } from "../client/client.js";
import { StartError } from "../errors.js";
import { inputBytes } from "./input-file.js";
import { type Progress, type ProgressOptions, withProgress } from "./progress.js";
import { Rejections } from "./rejections.js";
import { InterruptedError, inWords, onInterrupt, REJECTED } from "./run-command.js";
import { requireKey, serviceClient, serviceUrl } from "./running-service.js";

/** What a command that sends files to a service works with. */
export interface Sending {
  readonly client: Client;
  readonly rejections: Rejections;
  /** Aborted when the command is asked to stop. */
  readonly signal: AbortSignal;
  /** Bytes of all files; undefined when one of them is a stream. */
  readonly bytes: number | undefined;
  /** One stretch of the work after another, each with its progress; what is rejected meanwhile is said above it. */
  stage<T>(label: string, options: ProgressOptions, work: (progress: Progress) => Promise<T>): Promise<T>;
}

/**
 * Runs a command that sends files. `send` resolves with a summary for stdout, to which the number of rejections is added. Resolves with the exit
 * code.
 */
export async function sendFiles(
  files: readonly string[],
  options: { readonly url?: string; readonly rejects?: string },
  send: (sending: Sending) => Promise<string>,
): Promise<number> {
  const bytes = inputBytes(files);
  const stop = new AbortController();
  const { signal } = stop;
  onInterrupt(() => stop.abort());
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
    process.stdout.write(`${summary}${rejections.count === 0 ? "" : `, ${rejections.count} rejected`}\n`);
    return rejections.count === 0 ? 0 : REJECTED;
  } finally {
    rejections.close();
  }
}

/** What ends a command that is interrupted or fails, with `place`: how far it has come, and what another run does. */
export function endedAt(place: string, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return new InterruptedError(`Stopped. ${place}`, { cause: error });
  const said = inWords(error);
  return said instanceof StartError ? new StartError(`${said.message}. ${place}`, { cause: error }) : said;
}
