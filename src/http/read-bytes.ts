import { isUtf8 } from "node:buffer";
import { invalid } from "../errors.js";
import type { ApiContext } from "./api-router.js";
import { bodyChunks } from "./body-chunks.js";
import { tooLarge } from "./lines.js";

/** The whole body, plain or gzip, of at most `limit` bytes after inflation. */
export async function readBytes(ctx: ApiContext, limit: number): Promise<Buffer> {
  const arrived = arrivedBytes(ctx, limit);
  if (arrived !== undefined) return arrived;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of bodyChunks(ctx)) {
    bytes += chunk.length;
    if (bytes > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
}

/** A plain body that came along with its head, as most do: it is there already, and nothing has to be waited for. */
function arrivedBytes({ req }: ApiContext, limit: number): Buffer | undefined {
  const { complete, readableLength, headers } = req;
  if (!complete || readableLength === 0 || readableLength > limit) return undefined;
  return headers["content-encoding"] === undefined ? (req.read() as Buffer) : undefined;
}

/** The whole body as text: UTF-8, else it is refused. A byte order mark at its start is left out. */
export async function readText(ctx: ApiContext, limit: number): Promise<string> {
  const bytes = await readBytes(ctx, limit);
  if (!isUtf8(bytes)) throw invalid("not_utf8", "", "The body is not valid UTF-8");
  const text = bytes.toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}
