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
  readonly problem?: string | undefined;
  /** Whether all open requests are counted by reason. */
  readonly reasons?: true | undefined;
  readonly order: "asc" | "desc";
}

/** Returns the query of a page of a list. */
export function deletionQuery(query: DeletionQuery, after?: string) {
  return { ...query, limit: DELETIONS_PAGE, after };
}

interface DeletionListProps {
  readonly title: string;
  readonly query: DeletionQuery;
  /** The first page, which the view refreshes; undefined if the view does not have the query's first page. */
  readonly first: DeletionPage | undefined;
  readonly columns: readonly Column<ListedDeletion>[];
  readonly page: Page;
  /** See `Table`. */
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
  /** Above the list. */
  readonly children?: ComponentChildren;
}

/** A page of the list, with the cursors of the pages up to it: they change together. */
interface ReadPage {
  readonly list: DeletionPage;
  readonly cursors: readonly string[];
}

/** A list of requests with its own pages. */
export function DeletionList({ title, query, first, columns, page, children, ...sorting }: DeletionListProps): VNode {
  const name = JSON.stringify(query);
  const [place, setPlace] = useState<{ readonly name: string; readonly cursors: readonly string[] }>();
  const [read, setRead] = useState<ReadPage | undefined>(first && { list: first, cursors: [] });
  const { run, problem } = useTask();
  // Another filter or order begins with its first page.
  const cursors = place?.name === name ? place.cursors : [];
  const after = cursors.at(-1);
  const known = after === undefined ? first : undefined;
  useEffect(() => {
    if (known !== undefined) return setRead({ list: known, cursors });
    run(async (signal) => {
      const list = await page.client.page("deletion", deletionQuery(query, after), { signal });
      setRead({ list, cursors });
    });
  }, [name, after, known, page.now]);
  const shown = known === undefined ? read : { list: known, cursors };
  const list = shown?.list;
  return (
    <Card
      title={title}
      actions={
        shown !== undefined && (
          <Pager
            list={shown.list}
            size={DELETIONS_PAGE}
            cursors={shown.cursors}
            onChange={(next) => setPlace({ name, cursors: next })}
          />
        )
      }
    >
      {children}
      {problem !== undefined && <p role="alert">{problem}</p>}
      <Table
        class="list"
        caption={title}
        columns={columns}
        rows={list?.data ?? []}
        rowKey={({ request_id }) => request_id}
        {...sorting}
      />
      {list?.data.length === 0 && <p class="note">None.</p>}
    </Card>
  );
}
