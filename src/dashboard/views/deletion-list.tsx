import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ListedDeletion, ListPage } from "../../client/client.js";
import { Pager } from "../list/pager.js";
import type { Column } from "../list/table.js";
import { Table } from "../list/table.js";
import { Card } from "../page/card.js";
import type { Page } from "../view.js";
import { useTask } from "./use-task.js";

export const DELETIONS_PAGE = 20;

interface DeletionListProps {
  readonly title: string;
  readonly state: "open" | "completed";
  /** The first page, which the view refreshes. */
  readonly first: ListPage<ListedDeletion>;
  readonly columns: readonly Column<ListedDeletion>[];
  readonly page: Page;
}

/** A list of requests with its own pages. */
export function DeletionList({ title, state, first, columns, page }: DeletionListProps): VNode {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [later, setLater] = useState<ListPage<ListedDeletion>>();
  const { run, problem } = useTask(page);
  const after = cursors.at(-1);
  useEffect(() => {
    if (after === undefined) return setLater(undefined);
    run(async (signal) =>
      setLater(await page.client.page("deletion", { state, limit: DELETIONS_PAGE, after }, { signal })),
    );
  }, [after, page.now]);
  const list = (after === undefined ? undefined : later) ?? first;
  return (
    <Card title={title}>
      <Pager list={list} size={DELETIONS_PAGE} cursors={cursors} onChange={setCursors} />
      {problem !== undefined && <p role="alert">{problem}</p>}
      <Table caption={title} columns={columns} rows={list.data} keyOf={({ request_id }) => request_id} />
      {list.data.length === 0 && <p class="note">None.</p>}
    </Card>
  );
}
