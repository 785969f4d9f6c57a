import type { ComponentChildren, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { DeletionPage, ListedDeletion } from "../../client/client.js";
import { Pager } from "../list/pager.js";
import type { Column } from "../list/table.js";
import { Table } from "../list/table.js";
import { Card } from "../page/card.js";
import type { Page } from "../view.js";
import { useTask } from "./use-task.js";

const DELETIONS_PAGE = 20;

/** Filter and order of a list of requests. */
export interface DeletionQuery {
  readonly state: "open" | "stuck" | "completed";
  readonly target?: string | undefined;
  readonly order: "asc" | "desc";
}

/** Returns the query of a page of a list. */
export function deletionQuery({ state, target, order }: DeletionQuery, after?: string) {
  return { state, target, order, limit: DELETIONS_PAGE, after };
}

interface DeletionListProps {
  readonly title: string;
  readonly query: DeletionQuery;
  /** The first page, which the view refreshes; undefined if the view does not have that of the query. */
  readonly first: DeletionPage | undefined;
  readonly columns: readonly Column<ListedDeletion>[];
  readonly page: Page;
  /** See `Table`. */
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
  /** Above the list. */
  readonly children?: ComponentChildren;
}

/** A list of requests with its own pages. */
export function DeletionList({ title, query, first, columns, page, children, ...sorting }: DeletionListProps): VNode {
  const name = JSON.stringify(query);
  const [place, setPlace] = useState<{ readonly name: string; readonly cursors: readonly string[] }>();
  const [read, setRead] = useState(first);
  const { run, problem } = useTask(page);
  // Another filter or order begins with its first page.
  const cursors = place?.name === name ? place.cursors : [];
  const after = cursors.at(-1);
  const known = after === undefined ? first : undefined;
  useEffect(() => {
    if (known !== undefined) return setRead(known);
    run(async (signal) => setRead(await page.client.page("deletion", deletionQuery(query, after), { signal })));
  }, [name, after, known, page.now]);
  const list = known ?? read;
  return (
    <Card title={title}>
      {children}
      {list !== undefined && (
        <Pager
          list={list}
          size={DELETIONS_PAGE}
          cursors={cursors}
          onChange={(next) => setPlace({ name, cursors: next })}
        />
      )}
      {problem !== undefined && <p role="alert">{problem}</p>}
      <Table
        caption={title}
        columns={columns}
        rows={list?.data ?? []}
        keyOf={({ request_id }) => request_id}
        {...sorting}
      />
      {list?.data.length === 0 && <p class="note">None.</p>}
    </Card>
  );
}
