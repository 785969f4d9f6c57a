import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Client, ListedDeletion } from "../../client/client.js";
import { csvOf } from "../csv.js";
import { count } from "../format.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import { waitingText } from "./deletion-words.js";
import { type RefusedLine, RefusedLines } from "./refused-lines.js";
import { useFocus } from "./use-focus.js";
import { usePoll } from "./use-poll.js";
import { messageOf, useTask } from "./use-task.js";

/** The outcome of the lines of a file so far. */
export interface Requested {
  readonly ids: readonly string[];
  readonly refused: readonly RefusedLine[];
  /** Lines without an answer. */
  readonly left: number;
}

const FIRST_POLL_MS = 500;
const POLL_MS = 3_000;
/** Clocks of the service's processes differ by less. */
const CLOCKS_MS = 600_000;
/** Maximum requests of a page of the list. */
const PAGE = 1_000;
/** Receipts that are read at once. */
const CONCURRENT_REQUESTS = 4;

/** Follows the requests of a file until all are completed, with the reasons of the others and the receipts. */
export function ManyProgress({ requested, page }: { readonly requested: Requested; readonly page: Page }): VNode {
  const { ids, refused, left } = requested;
  const summary = useFocus<HTMLParagraphElement>();
  const [open, setOpen] = useState<readonly ListedDeletion[]>();
  const [problem, setProblem] = useState<string>();
  usePoll({
    key: String(left === 0),
    firstMs: FIRST_POLL_MS,
    everyMs: POLL_MS,
    async poll(signal) {
      if (left > 0 || ids.length === 0) return false;
      const found = await openAmong(ids, page.client, signal);
      setOpen(found);
      setProblem(undefined);
      return found.length > 0;
    },
    onError: (error) => setProblem(messageOf(error)),
  });
  const completed = open === undefined ? 0 : ids.length - open.length;
  const saveIds = () =>
    download(
      "deletion-requests.csv",
      new Blob([csvOf([["request_id"], ...ids.map((id) => [id])])], { type: "text/csv" }),
    );
  return (
    <>
      <p ref={summary} tabIndex={-1} role="status">
        {count(ids.length)} accepted, {count(refused.length)} rejected
        {left > 0 ? `, ${count(left)} to send: keep this page open.` : "."}
        {open?.length === 0 && ids.length > 0 && ` All ${count(ids.length)} are completed.`}
      </p>
      <p class="controls">
        <progress aria-label="Completed" max={ids.length} value={completed} /> {count(completed)} of {count(ids.length)}{" "}
        completed
      </p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {reasonsOf(open ?? []).map((reason) => (
        <p key={reason} class="note">
          {reason}
        </p>
      ))}
      {refused.length > 0 && <RefusedLines caption="Lines that were rejected" refused={refused} />}
      <p class="controls">
        <button type="button" onClick={saveIds}>
          Download request ids
        </button>
        {completed > 0 && <ReceiptsButton ids={ids} open={open ?? []} page={page} />}
      </p>
    </>
  );
}

/** Returns the open ones of these requests. Older requests of other people are not read. */
async function openAmong(ids: readonly string[], client: Client, signal: AbortSignal): Promise<ListedDeletion[]> {
  const own = new Set(ids);
  const acceptedAt = ids.reduce(
    (first, id) => Math.min(first, Number(id.split("-")[1]) * 1_000),
    Number.POSITIVE_INFINITY,
  );
  const open: ListedDeletion[] = [];
  for await (const deletion of client.deletions({ state: "open", limit: PAGE }, { signal })) {
    if (Date.parse(deletion.accepted_at) < acceptedAt - CLOCKS_MS) break;
    if (own.has(deletion.request_id)) open.push(deletion);
  }
  return open;
}

/** Reasons for which the open requests wait, the most frequent first. */
function reasonsOf(open: readonly ListedDeletion[]): string[] {
  const counts = new Map<string, number>();
  for (const { problem } of open) if (problem !== null) counts.set(problem, (counts.get(problem) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([problem, requests]) => waitingText({ problem, target: null, requests }));
}

interface ReceiptsProps {
  readonly ids: readonly string[];
  readonly open: readonly ListedDeletion[];
  readonly page: Page;
}

/** Saves the receipts of all completed requests as one file, a line for each. */
function ReceiptsButton({ ids, open, page }: ReceiptsProps): VNode {
  const { run, isRunning, problem } = useTask();
  const [read, setRead] = useState(0);
  const isOpen = new Set(open.map(({ request_id }) => request_id));
  const completed = ids.filter((id) => !isOpen.has(id));
  const save = () =>
    run(async (signal) => {
      const receipts: string[] = [];
      const rest = completed.entries();
      const work = async () => {
        for (const [index, id] of rest) {
          receipts[index] = await page.client.receipt(id, { signal });
          setRead(index + 1);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, work));
      download(
        "receipts.jws",
        new Blob(
          receipts.map((receipt) => `${receipt}\n`),
          { type: "text/plain" },
        ),
      );
    });
  return (
    <>
      <button type="button" class="primary" disabled={isRunning} onClick={save}>
        All receipts
      </button>
      {isRunning && (
        <span class="note">
          {count(read)} of {count(completed.length)}
        </span>
      )}
      {problem !== undefined && <span role="alert">{problem}</span>}
    </>
  );
}
