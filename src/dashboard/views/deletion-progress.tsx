import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DeletionState } from "../../client/client.js";
import { fullTime, type Zone } from "../format.js";
import { type Column, Table } from "../list/table.js";
import { unlessNotFound } from "../optional.js";
import type { Page } from "../view.js";
import { ReceiptButton, TryNowButton } from "./deletion-buttons.js";
import { stageName } from "./stage-name.js";
import { useFocus } from "./use-focus.js";
import { usePoll } from "./use-poll.js";
import { messageOf } from "./use-task.js";

const FIRST_POLL_MS = 500;
const POLL_MS = 2_000;

/** State of one request and of each of its targets, followed until it is completed. Its card gets the focus. */
export function DeletionProgress({ requestId, page }: { readonly requestId: string; readonly page: Page }): VNode {
  const [state, setState] = useState<DeletionState>();
  const [problem, setProblem] = useState<string>();
  const card = useFocus<HTMLElement>();
  usePoll({
    key: requestId,
    firstMs: FIRST_POLL_MS,
    everyMs: POLL_MS,
    async poll(signal) {
      const read = await unlessNotFound(page.client.deletion(requestId, { signal }));
      setState(read);
      setProblem(read === undefined ? "No request has this id." : undefined);
      return read !== undefined && read.completed_at === null;
    },
    onError: (error) => setProblem(messageOf(error)),
  });
  return (
    <section ref={card} class="card progress" tabIndex={-1}>
      <h2>Deletion</h2>
      <p role="status">
        Request <code>{requestId}</code>
        {state === undefined ? (problem === undefined ? ": accepted" : "") : `: ${summaryOf(state, page.zone)}`}.
      </p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {state !== undefined && (
        <>
          <Targets state={state} zone={page.zone} />
          <p class="controls">
            {state.completed_at === null ? (
              <TryNowButton requestId={requestId} page={page} />
            ) : (
              <ReceiptButton requestId={requestId} page={page} />
            )}
          </p>
        </>
      )}
    </section>
  );
}

function summaryOf({ completed_at, problem, stage, next_try_at }: DeletionState, zone: Zone): string {
  if (completed_at !== null) return `completed ${fullTime(Date.parse(completed_at), zone)}`;
  if (problem === null) return `in progress (${stageName(stage)})`;
  return `waiting: ${problem}${next_try_at === null ? "" : `, next try ${fullTime(Date.parse(next_try_at), zone)}`}`;
}

interface TargetsProps {
  readonly state: DeletionState;
  readonly zone: Zone;
}

function Targets({ state: { targets, completed_at }, zone }: TargetsProps): VNode {
  const time = (text: string | null) =>
    text === null ? (completed_at === null ? "not yet" : "–") : fullTime(Date.parse(text), zone);
  const columns: readonly Column<DeletionState["targets"][number]>[] = [
    { head: "Target", cell: ({ name }) => stageName(name) },
    { head: "Erased", cell: ({ erased_at }) => time(erased_at) },
    { head: "Verified", cell: ({ verified_at }) => time(verified_at) },
  ];
  return <Table caption="Targets" columns={columns} rows={targets} rowKey={({ name }) => name} />;
}
