import type { Table } from "../../client/client.js";
import type { IdentityItem } from "../../entities/identity-file/identity-line.js";
import { acceptedIdentities, IdentityReader, identityLines } from "../../entities/identity-file/identity-reader.js";
import { count } from "../format.js";
import { fieldOf } from "./field-of.js";

/** Identities of a file, and its refused lines. */
export interface IdentitiesOfFile {
  /** See `IdentityReader`. */
  readonly source: string;
  readonly items: readonly (IdentityItem & { readonly line: number })[];
  readonly refused: readonly { readonly line: number; readonly reason: string }[];
  /** Field that its values probably have, if the file does not name one and none is chosen. */
  readonly likelyField: string | undefined;
}

/**
 * Reads a file as `npm run erase` does. `field` is empty unless one is chosen; `tables` is the response of the service.
 */
export async function identitiesOf(
  file: Pick<File, "name" | "arrayBuffer">,
  { table, field }: { readonly table: string; readonly field: string },
  tables: readonly Table[],
): Promise<IdentitiesOfFile> {
  const accepted = acceptedIdentities(tables);
  const reader = new IdentityReader({
    name: file.name,
    options: { table, field: field || undefined },
    ...accepted,
  });
  const bytes = await bytesOf(file);
  const items: IdentitiesOfFile["items"][number][] = [];
  const refused: IdentitiesOfFile["refused"][number][] = [];
  for await (const lines of identityLines(oneChunk(bytes), reader)) {
    for (const line of lines) {
      if ("issue" in line) refused.push({ line: line.number, reason: line.issue.message });
      else items.push({ line: line.number, ...line.item });
    }
  }
  const start = new TextDecoder().decode(bytes.subarray(0, START_BYTES));
  const fields = tables.find(({ name }) => name === table)?.identities.map(({ name }) => name) ?? [];
  return { source: reader.source, items, refused, likelyField: reader.needsField ? fieldOf(start, fields) : undefined };
}

/** Bytes of a file that show what its values are. */
const START_BYTES = 1_000;

/** Returns the bytes of a file, inflated if they start as gzip does. */
async function bytesOf(file: Pick<File, "name" | "arrayBuffer">): Promise<Uint8Array> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(inflated).arrayBuffer());
  } catch {
    throw new Error(`${file.name} cannot be read (not complete, valid gzip)`);
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Returns how a file was read, as names with values. */
export function readingOf({ source, items, refused }: IdentitiesOfFile): [name: string, value: string][] {
  const [first] = items;
  const read = `${count(items.length)} of ${count(items.length + refused.length)} lines`;
  return [
    ["Named by", source],
    ["Identities", first === undefined ? read : `${read}; the first is line ${first.line}`],
  ];
}
