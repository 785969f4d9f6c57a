import { yieldWhenDue } from "../../async/yielding.js";
import type { History, HistoryMessage } from "../ports.js";
import type { EntityId } from "./entity.js";

/** Maximum messages of a page. */
const MAX_PAGE = 200;
/** Encrypted bytes of a page after which the next ones are smaller: a message may take 1 MiB. */
const PAGE_BYTES = 1_048_576;
/** Messages read first; the number grows while they are small. */
const FIRST_PAGE = 10;

/** Yields pages of the messages of several ids in order of arrival. Other requests run between two pages. */
export async function* messagePages(
  history: Pick<History, "page">,
  ids: readonly EntityId[],
): AsyncGenerator<HistoryMessage[]> {
  let last: HistoryMessage | undefined;
  for (let limit = FIRST_PAGE; ; ) {
    const page = await history.page(ids, last, limit);
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    last = page.at(-1);
    const bytes = page.reduce((sum, { sealed }) => sum + sealed.length, 0);
    limit = bytes * 2 <= PAGE_BYTES ? Math.min(limit * 2, MAX_PAGE) : Math.max(1, Math.floor(limit / 2));
    await yieldWhenDue();
  }
}
