import { type Deletion, stageOf } from "./deletion.js";
import type { Ledger } from "./ledger.js";

const PAGE = 500;

/** A target works again: lets the other requests that wait for it run now. */
export async function wakeOthers(ledger: Ledger, target: string, except: string): Promise<void> {
  let page: Deletion[] = [];
  do {
    const after = page.at(-1)?.requestId;
    page = await ledger.open({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    const waiting = page.filter(
      (deletion) => deletion.attempts > 0 && deletion.requestId !== except && stageOf(deletion) === target,
    );
    if (waiting.length > 0) await ledger.wake(waiting.map(({ requestId }) => requestId));
  } while (page.length === PAGE);
}
