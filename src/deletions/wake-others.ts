import { type Deletion, stageOf } from "./deletion.js";
import type { Ledger } from "./ledger.js";
import type { WakeUp } from "./wake-up.js";

const PAGE = 500;

export interface WakeParts {
  readonly ledger: Pick<Ledger, "open" | "wake">;
  readonly wakeUp: Pick<WakeUp, "hint">;
}

/** A target works again: lets the other requests that wait for it run now. */
export async function wakeOthers(parts: WakeParts, target: string, except: string): Promise<void> {
  const { ledger } = parts;
  let page: Deletion[] = [];
  do {
    const after = page.at(-1)?.requestId;
    page = await ledger.open({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    const waiting = page.filter(
      (deletion) =>
        deletion.attempts > 0 &&
        deletion.notBefore > 0 &&
        deletion.requestId !== except &&
        stageOf(deletion) === target,
    );
    await wake(
      parts,
      waiting.map(({ requestId }) => requestId),
    );
  } while (page.length === PAGE);
}

/** Lets these requests run now, also those that wait for a later try. */
export async function wake({ ledger, wakeUp }: WakeParts, requestIds: readonly string[]): Promise<void> {
  if (requestIds.length === 0) return;
  await ledger.wake(requestIds);
  for (const requestId of requestIds) wakeUp.hint(requestId);
}
