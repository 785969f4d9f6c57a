import type { VNode } from "preact";
import type { HookStatus } from "../../client/client.js";
import { count } from "../format.js";
import { type Column, Table } from "../list/table.js";
import { Time } from "../list/time.js";
import { Card } from "../page/card.js";
import type { Page } from "../view.js";
import { hookNote, hookState, lagText } from "./hook-words.js";

/** The systems that are notified of who joined and left segments: whether they take their changes. */
export function HookList({ hooks, page }: { readonly hooks: readonly HookStatus[]; readonly page: Page }): VNode {
  const columns: readonly Column<HookStatus>[] = [
    { head: "Hook", cell: ({ name }) => name },
    {
      head: "State",
      cell: (hook) => <span class={hookState(hook) === "up" ? "good" : "bad"}>{hookState(hook)}</span>,
    },
    { head: "Waiting", isNumber: true, cell: ({ waiting }) => count(waiting) },
    { head: "Lag", isNumber: true, cell: lagText },
    { head: "Last answer", cell: ({ last_answer_at: at }) => (at === null ? "–" : <Time at={at} page={page} />) },
    { head: "Note", cell: hookNote },
  ];
  return (
    <Card title="Hooks">
      <Table caption="Hooks" columns={columns} rows={hooks} rowKey={({ name }) => name} />
    </Card>
  );
}
