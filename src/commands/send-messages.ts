import type { Issue } from "../client/client.js";
import { type Message, unreadable } from "./message-file.js";
import { megabytes } from "./progress.js";
import { endedAt, type LineIssue, type Sending } from "./send-files.js";

/** Approximate maximum characters of a request. */
const CHUNK_LENGTH = 1024 * 1024;

export interface MessagesToSend {
  /** Label of the progress. */
  readonly label: string;
  /** Reads the messages of the file; `onBytes` receives the bytes read so far. */
  read(onBytes: (bytes: number) => void): AsyncIterable<Message[]>;
  /** Maximum messages per request. */
  readonly chunkSize: number;
  /** Effect of running the same command again. */
  readonly again: string;
}

/**
 * Sends the messages of a file in order, in chunks that are the same in each run, and rejects unreadable ones. Resolves
 * with the number of accepted messages, which is the sum of what `send` resolves with.
 */
export async function sendMessages(
  { label, read, chunkSize, again }: MessagesToSend,
  { bytes, signal, rejections, stage }: Sending,
  send: (chunk: readonly Message[]) => Promise<number>,
): Promise<number> {
  let accepted = 0;
  let line = 0;
  await stage(label, { unit: "MB", total: bytes, format: megabytes }, async (progress) => {
    try {
      const messages = read((bytesRead) => progress.update(bytesRead));
      for await (const chunk of chunksOf(messages, chunkSize)) {
        for (const message of chunk) {
          const issue = unreadable(message);
          if (issue !== undefined) rejections.add(message.number, issue);
        }
        const good = chunk.filter(({ issue }) => issue === undefined);
        if (good.length > 0) accepted += await send(good);
        line = chunk.at(-1)?.number ?? line;
      }
    } catch (error) {
      const place = line === 0 ? "Nothing was confirmed as sent" : `The file is sent up to line ${line}`;
      throw endedAt(`${place}. Running the same command again is safe: ${again}`, error, signal);
    }
  });
  return accepted;
}

async function* chunksOf(messages: AsyncIterable<Message[]>, size: number): AsyncGenerator<Message[]> {
  let chunk: Message[] = [];
  let length = 0;
  for await (const lines of messages) {
    for (const line of lines) {
      chunk.push(line);
      length += line.text.length;
      if (chunk.length < size && length < CHUNK_LENGTH) continue;
      yield chunk;
      chunk = [];
      length = 0;
    }
  }
  if (chunk.length > 0) yield chunk;
}

/** Returns the reason of a rejected message, with the field that it names. */
export function lineIssue({ code, path, message }: Issue): LineIssue {
  const field = /^line \d+, (.+)$/.exec(path)?.[1];
  return { code, message: field === undefined ? message : `${field}: ${message}` };
}
