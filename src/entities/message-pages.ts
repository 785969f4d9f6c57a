import type { EntityId } from "./entity.js";
import type { History, HistoryMessage } from "./ports.js";

/** Messages of a page. All that are held at the same time are about twice as many. */
const AT_ONCE = 200;

/** Messages of several ids in the order of arrival, a page at a time: a store hands out those of one id in that order. */
export async function* messagePages(
  history: Pick<History, "page">,
  ids: readonly EntityId[],
): AsyncGenerator<HistoryMessage[]> {
  const limit = Math.max(1, Math.ceil(AT_ONCE / ids.length));
  const sources = await Promise.all(
    ids.map(async (id) => ({ id, next: 0, messages: await history.page(id, undefined, limit) })),
  );
  let page: HistoryMessage[] = [];
  for (;;) {
    let first: (typeof sources)[number] | undefined;
    for (const source of sources) if (source.next < source.messages.length && isBefore(source, first)) first = source;
    const message = first?.messages[first.next];
    if (first === undefined || message === undefined) break;
    page.push(message);
    first.next += 1;
    if (first.next === first.messages.length) {
      first.messages = first.messages.length < limit ? [] : await history.page(first.id, message, limit);
      first.next = 0;
    }
    if (page.length === AT_ONCE) {
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}

interface Source {
  readonly next: number;
  readonly messages: readonly HistoryMessage[];
}

function isBefore(one: Source, other: Source | undefined): boolean {
  const a = one.messages[one.next];
  const b = other?.messages[other.next];
  if (a === undefined || b === undefined) return b === undefined;
  return a.arrival - b.arrival < 0 || (a.arrival === b.arrival && a.position < b.position);
}
