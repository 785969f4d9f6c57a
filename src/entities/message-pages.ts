import type { EntityId } from "./entity.js";
import type { History, HistoryMessage } from "./ports.js";

/** Messages of a page at most, and about how many sealed bytes: a message may take a MiB. Twice as much is held at the same time. */
const AT_ONCE = 200;
const BYTES_AT_ONCE = 1_048_576;
/** Messages that are asked for first; more, while they are small. */
const FEW = 10;

/** Messages of several ids in the order of arrival, a page at a time: a store hands out those of one id in that order. */
export async function* messagePages(
  history: Pick<History, "page">,
  ids: readonly EntityId[],
): AsyncGenerator<HistoryMessage[]> {
  const share = { messages: Math.max(1, Math.ceil(AT_ONCE / ids.length)), bytes: BYTES_AT_ONCE / ids.length };
  const sources = await Promise.all(ids.map((id) => openSource(history, id, share)));
  let page: HistoryMessage[] = [];
  let bytes = 0;
  for (;;) {
    let first: Source | undefined;
    for (const source of sources) if (isBefore(source.head, first?.head)) first = source;
    const message = first?.head;
    if (first === undefined || message === undefined) break;
    page.push(message);
    bytes += message.sealed.length;
    await first.advance();
    if (page.length === AT_ONCE || bytes >= BYTES_AT_ONCE) {
      yield page;
      page = [];
      bytes = 0;
    }
  }
  if (page.length > 0) yield page;
}

interface Source {
  /** The next message; undefined after the last one. */
  readonly head: HistoryMessage | undefined;
  advance(): Promise<void>;
}

/** The messages of one id. As many are read at once as have lately fitted into its share. */
async function openSource(
  history: Pick<History, "page">,
  id: EntityId,
  share: { readonly messages: number; readonly bytes: number },
): Promise<Source> {
  let limit = Math.min(FEW, share.messages);
  let messages = await history.page(id, undefined, limit);
  let next = 0;
  return {
    get head() {
      return messages[next];
    },
    async advance() {
      const last = messages[next];
      next += 1;
      if (next < messages.length) return;
      const isLast = messages.length < limit;
      const bytes = messages.reduce((sum, { sealed }) => sum + sealed.length, 0);
      limit = bytes * 2 <= share.bytes ? Math.min(limit * 2, share.messages) : Math.max(1, Math.floor(limit / 2));
      messages = isLast ? [] : await history.page(id, last, limit);
      next = 0;
    },
  };
}

function isBefore(a: HistoryMessage | undefined, b: HistoryMessage | undefined): boolean {
  if (a === undefined || b === undefined) return a !== undefined;
  return a.arrival !== b.arrival ? a.arrival < b.arrival : a.position < b.position;
}
