import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { count } from "../format.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import { useTask } from "./use-task.js";

interface DeletionButtonProps {
  readonly requestId: string;
  readonly page: Page;
}

/** Saves the signed receipt of a completed request. */
export function ReceiptButton({ requestId, page }: DeletionButtonProps): VNode {
  const { run, isRunning, problem } = useTask();
  if (!page.scopes.has("entity:delete")) return <span class="note">needs entity:delete</span>;
  const save = () =>
    run(async (signal) => {
      const receipt = await page.client.receipt(requestId, { signal });
      download(`receipt-${requestId}.jws`, new Blob([receipt], { type: "application/jose" }));
    });
  return (
    <>
      <button type="button" disabled={isRunning} onClick={save}>
        Receipt<span class="hidden"> of {requestId}</span>
      </button>
      {problem !== undefined && <span role="alert"> {problem}</span>}
    </>
  );
}

/** Runs an open request at once. */
export function TryNowButton({ requestId, page }: DeletionButtonProps): VNode | null {
  const { run, isRunning, problem } = useTask();
  if (!page.scopes.has("admin")) return null;
  const tryNow = () =>
    run(async (signal) => {
      await page.client.retryDeletion(requestId, { signal });
      page.reload();
    });
  return (
    <>
      <button type="button" disabled={isRunning} onClick={tryNow}>
        Try now<span class="hidden"> {requestId}</span>
      </button>
      {problem !== undefined && <span role="alert"> {problem}</span>}
    </>
  );
}

/** Runs all requests that wait for a target. */
export function TryAllButton({ target, page }: { readonly target: string; readonly page: Page }): VNode | null {
  const { run, isRunning, problem } = useTask();
  const [retried, setRetried] = useState<number>();
  if (!page.scopes.has("admin")) return null;
  const tryAll = () =>
    run(async (signal) => {
      setRetried(await page.client.retryDeletions(target, { signal }));
      page.reload();
    });
  return (
    <>
      <button type="button" disabled={isRunning} data-key="t" onClick={tryAll}>
        Try all<span class="hidden"> of {target}</span>
      </button>
      {retried !== undefined && <span role="status">{count(retried)} tried again</span>}
      {problem !== undefined && <span role="alert">{problem}</span>}
    </>
  );
}
