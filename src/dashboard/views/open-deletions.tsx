import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DeletionPage, ListedDeletion } from "../../client/client.js";
import { age } from "../duration.js";
import { count } from "../format.js";
import type { Column } from "../list/table.js";
import { Time } from "../list/time.js";
import { Choice } from "../page/choice.js";
import type { Page } from "../view.js";
import { TryNowButton } from "./deletion-buttons.js";
import { DeletionList, type DeletionQuery } from "./deletion-list.js";
import { waitingOf } from "./deletion-words.js";
import { stageName } from "./stage-name.js";

/** All open requests, the oldest first, and the number of them by reason. */
export const allOpen: DeletionQuery = { state: "open", order: "asc", reasons: true };

interface OpenDeletionsProps {
  /** The first page of `allOpen`. */
  readonly open: DeletionPage;
  /** The column that opens a request. */
  readonly request: Column<ListedDeletion>;
  /** Lists only requests with this problem. */
  readonly problem: string | undefined;
  readonly onProblem: (problem: string | undefined) => void;
  readonly page: Page;
}

/** Open requests by state and reason. */
export function OpenDeletions({ open, request, problem, onProblem, page }: OpenDeletionsProps): VNode {
  const [{ state, order }, setQuery] = useState(allOpen);
  const isAll = state === allOpen.state && problem === undefined && order === allOpen.order;
  const problems = [...new Set(waitingOf(open.meta.reasons ?? []).map((reason) => reason.problem))];
  return (
    <DeletionList
      title="Open deletions"
      query={isAll ? allOpen : { state, problem, order }}
      first={isAll ? open : undefined}
      page={page}
      sort={order === "asc" ? "accepted" : "-accepted"}
      onSort={(sort) => setQuery({ state, order: sort === "accepted" ? "asc" : "desc" })}
      columns={[
        request,
        {
          head: "Accepted",
          sort: "accepted",
          phone: "none",
          cell: ({ accepted_at }) => <Time at={accepted_at} page={page} />,
        },
        {
          head: "Age",
          isNumber: true,
          cell: (row) => (
            <>
              {age(page.now - Date.parse(row.accepted_at))}
              {isOverdue(row, page) && <b class="bad"> overdue ▲</b>}
            </>
          ),
        },
        { head: "Stage", phone: "none", cell: ({ stage }) => stageName(stage) },
        {
          head: "Reason",
          cell: (row) => (
            <span class="wrap" title={row.problem ?? undefined}>
              {row.stuck && <b class="bad">stuck ▲ </b>}
              {row.problem ?? "in progress"}
            </span>
          ),
        },
        { head: "Attempts", isNumber: true, phone: "none", cell: ({ attempts }) => count(attempts) },
        {
          head: "Next try",
          phone: "none",
          cell: ({ next_try_at: at }) => (at === null ? "now" : <Time at={at} page={page} />),
        },
        {
          head: "Action",
          phone: "first",
          cell: ({ request_id }) => <TryNowButton requestId={request_id} page={page} />,
        },
      ]}
    >
      <div class="controls">
        <Choice<"open" | "stuck">
          label="State"
          value={state === "stuck" ? "stuck" : "open"}
          options={["open", "stuck"]}
          words={(one) => (one === "stuck" ? "Stuck" : "All open")}
          onChoose={(chosen) => setQuery({ state: chosen, order })}
        />
        <Choice
          label="Reason"
          value={problem ?? ""}
          options={["", ...problems]}
          words={(one) => one || "All"}
          onChoose={(chosen) => onProblem(chosen || undefined)}
        />
      </div>
    </DeletionList>
  );
}

/** `6 d, due in 24 d`: the age of the oldest open request. */
export function Oldest({ oldest, page }: { readonly oldest: ListedDeletion; readonly page: Page }): VNode {
  const left = Date.parse(oldest.due_at) - page.now;
  return (
    <>
      {age(page.now - Date.parse(oldest.accepted_at))},{" "}
      {isOverdue(oldest, page) ? <b class="bad">overdue by {age(-left)} ▲</b> : `due in ${age(left)}`}
    </>
  );
}

const isOverdue = ({ due_at }: ListedDeletion, { now }: Page): boolean => Date.parse(due_at) < now;
