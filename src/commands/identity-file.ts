import type { IdentityFileOptions } from "../entities/identity-file/identity-line.js";
import { acceptedIdentities, IdentityReader, identityLines } from "../entities/identity-file/identity-reader.js";
import { fileChunks } from "./input-file.js";
import type { Message } from "./message-file.js";
import type { Sending } from "./send-files.js";

/**
 * Yields the identities in a file, or in stdin for `-`, as items of `POST /api/deletion`, and rejects the lines that
 * the service would not accept; inflates gzip. `onBytes` receives the bytes read so far.
 */
export async function* readIdentities(
  path: string,
  options: IdentityFileOptions,
  onBytes: (bytes: number) => void,
  { client, rejections, signal }: Sending,
): AsyncGenerator<Message[]> {
  const reader = new IdentityReader({ name: path, options, ...acceptedIdentities(await client.tables({ signal })) });
  for await (const lines of identityLines(fileChunks(path, onBytes), reader)) {
    const items: Message[] = [];
    for (const line of lines) {
      if ("issue" in line) rejections.add(line.number, line.issue);
      else items.push({ number: line.number, text: JSON.stringify(line.item) });
    }
    yield items;
  }
}
