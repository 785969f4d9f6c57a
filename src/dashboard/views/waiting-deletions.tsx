import type { VNode } from "preact";
import type { OpenReason } from "../../client/client.js";
import { age } from "../duration.js";
import { count } from "../format.js";
import type { Page } from "../view.js";
import { TryAllButton } from "./deletion-buttons.js";
import { type Waiting, waitingOf, waitingText } from "./deletion-words.js";

/** Reasons that are shown; the list of open requests has all. */
const SHOWN_REASONS = 3;

interface WaitingDeletionsProps {
  readonly reasons: readonly OpenReason[];
  readonly page: Page;
  /** Lists the requests with this problem. */
  readonly onOpen: (problem: string) => void;
}

/** A line for each reason for which open requests wait, with the action that helps: the stuck requests first. */
export function WaitingDeletions({ reasons, page, onOpen }: WaitingDeletionsProps): VNode {
  const waiting = waitingOf(reasons);
  const more = waiting.length - SHOWN_REASONS;
  return (
    <>
      {waiting.slice(0, SHOWN_REASONS).map((reason) => (
        <div key={`${reason.target} ${reason.problem}`} class="line controls">
          <button type="button" class="plain" onClick={() => onOpen(reason.problem)}>
            <b>{waitingText(reason)}</b>
          </button>
          <span class="note">{noteOf(reason, page.now)}</span>
          {reason.target !== null && <TryAllButton target={reason.target} page={page} />}
        </div>
      ))}
      {more > 0 && <p class="note">{more === 1 ? "1 more reason" : `${more} more reasons`}: see all open.</p>}
    </>
  );
}

function noteOf({ stuck, requests, oldest_at }: Waiting, now: number): VNode {
  return (
    <>
      {stuck > 0 && <b class="bad">{stuck === requests ? "stuck" : `${count(stuck)} stuck`} ▲</b>} the oldest for{" "}
      {age(now - Date.parse(oldest_at))}
    </>
  );
}
