import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DeletionPage, ListedDeletion } from "../../client/client.js";
import { age } from "../duration.js";
import { fullTime } from "../format.js";
import type { Column } from "../list/table.js";
import type { Page } from "../view.js";
import { TryAllButton, TryNowButton } from "./deletion-buttons.js";
import { DeletionList, type DeletionQuery } from "./deletion-list.js";
import { stageName } from "./stage-name.js";

/** All open requests, the oldest first. */
export const allOpen: DeletionQuery = { state: "open", order: "asc" };

interface OpenDeletionsProps {
  /** The first page of `allOpen`. */
  readonly open: DeletionPage;
  /** The column that opens a request. */
  readonly request: Column<ListedDeletion>;
  readonly page: Page;
}

/** Open requests by state and target, and the age of the oldest. */
export function OpenDeletions({ open, request, page }: OpenDeletionsProps): VNode {
  const [{ state, target, order }, setQuery] = useState(allOpen);
  const isAll = state === allOpen.state && target === undefined && order === allOpen.order;
  const { targets } = open.meta;
  const tried = targets.length === 1 ? targets[0] : target;
  const [oldest] = open.data;
  const time = (text: string) => fullTime(Date.parse(text), page.zone);
  return (
    <DeletionList
      title="Open deletions"
      query={{ state, target, order }}
      first={isAll ? open : undefined}
      page={page}
      sort={order === "asc" ? "accepted" : "-accepted"}
      onSort={(sort) => setQuery({ state, target, order: sort === "accepted" ? "asc" : "desc" })}
      columns={[
        request,
        { head: "Accepted", sort: "accepted", cell: ({ accepted_at }) => time(accepted_at) },
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
        { head: "Stage", cell: ({ stage }) => stageName(stage) },
        {
          head: "Reason",
          cell: ({ problem, stuck }) => (
            <>
              {stuck && <b class="bad">stuck ▲ </b>}
              {problem ?? "–"}
            </>
          ),
        },
        { head: "Attempts", isNumber: true, cell: ({ attempts }) => attempts },
        { head: "Next try", cell: ({ next_try_at }) => (next_try_at === null ? "now" : time(next_try_at)) },
        { head: "Action", cell: ({ request_id }) => <TryNowButton requestId={request_id} page={page} /> },
      ]}
    >
      {oldest !== undefined && <Oldest oldest={oldest} page={page} />}
      <div class="controls">
        <label>
          State{" "}
          <select
            value={state}
            onChange={({ currentTarget: { value } }) =>
              setQuery({ state: value === "stuck" ? "stuck" : "open", target, order })
            }
          >
            <option value="open">All open</option>
            <option value="stuck">Stuck</option>
          </select>
        </label>
        {targets.length > 0 && (
          <label>
            Target{" "}
            <select
              value={target ?? ""}
              onChange={({ currentTarget: { value } }) => setQuery({ state, target: value || undefined, order })}
            >
              <option value="">All</option>
              {targets.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        {tried !== undefined && <TryAllButton key={tried} target={tried} page={page} />}
      </div>
    </DeletionList>
  );
}

/** `oldest open: 6 d, due in 24 d`. */
function Oldest({ oldest, page }: { readonly oldest: ListedDeletion; readonly page: Page }): VNode {
  const left = Date.parse(oldest.due_at) - page.now;
  return (
    <p>
      oldest open: {age(page.now - Date.parse(oldest.accepted_at))},{" "}
      {isOverdue(oldest, page) ? <b class="bad">overdue by {age(-left)} ▲</b> : `due in ${age(left)}`}
    </p>
  );
}

const isOverdue = ({ due_at }: ListedDeletion, { now }: Page): boolean => Date.parse(due_at) < now;
