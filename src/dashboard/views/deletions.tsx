import type { VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { DeletionPage, ListedDeletion } from "../../client/client.js";
import { age } from "../duration.js";
import { count } from "../format.js";
import type { Column } from "../list/table.js";
import { Time } from "../list/time.js";
import { type DeletionForm, takeOpened } from "../opened.js";
import { Head } from "../page/head.js";
import { Later } from "../page/later.js";
import { readTables, type Tables } from "../tables.js";
import type { Loaded, Page } from "../view.js";
import { ReceiptButton } from "./deletion-buttons.js";
import { DeletionList, type DeletionQuery, deletionQuery } from "./deletion-list.js";
import { DeletionProgress } from "./deletion-progress.js";
import { allOpen, Oldest, OpenDeletions } from "./open-deletions.js";
import { WaitingDeletions } from "./waiting-deletions.js";

interface Data {
  readonly tables: Tables;
  readonly open: DeletionPage;
  readonly completed: DeletionPage;
}

const REFRESH_MS = 10_000;

const newestCompleted: DeletionQuery = { state: "completed", order: "desc" };

const newDeletion = async () => (await import("./new-deletion.js")).NewDeletion;

/** Reasons for which open requests wait, the lists of open and completed requests, and the forms behind a button. */
export async function load({ client, now, signal }: Page): Promise<Loaded<Data>> {
  const open = await client.page("deletion", deletionQuery(allOpen), { signal });
  const completed = await client.page("deletion", deletionQuery(newestCompleted), { signal });
  return { data: { tables: readTables(), open, completed }, nextAt: now + REFRESH_MS };
}

export function Show({ data: { tables, open, completed }, page }: { readonly data: Data; readonly page: Page }): VNode {
  const [form, setForm] = useState<DeletionForm>();
  const [requestId, setRequestId] = useState<string>();
  const [problem, setProblem] = useState<string>();
  useLayoutEffect(() => {
    setForm(takeOpened("form") ?? form);
    setRequestId(takeOpened("request") ?? requestId);
  }, [page]);
  const mayDelete = page.scopes.has("entity:delete");
  const onRequest = (id: string) => {
    setForm(undefined);
    setRequestId(id);
  };
  const request: Column<ListedDeletion> = {
    head: "Request",
    cell: ({ request_id }) => (
      <button type="button" class="plain" onClick={() => setRequestId(request_id)}>
        <code>{request_id}</code>
      </button>
    ),
  };
  return (
    <>
      <Work open={open} form={form} onForm={setForm} onProblem={setProblem} page={page} />
      {form !== undefined && (
        <Later
          script={newDeletion}
          props={{ form: mayDelete ? form : "request", onForm: setForm, tables, page, onRequest }}
        />
      )}
      {requestId !== undefined && <DeletionProgress key={requestId} requestId={requestId} page={page} />}
      {open.meta.total > 0 && (
        <OpenDeletions open={open} request={request} problem={problem} onProblem={setProblem} page={page} />
      )}
      <DeletionList
        title="Completed deletions"
        query={newestCompleted}
        first={completed}
        page={page}
        columns={[
          request,
          { head: "Accepted", phone: "none", cell: ({ accepted_at }) => <Time at={accepted_at} page={page} /> },
          {
            head: "Completed",
            cell: ({ completed_at: at }) => (at === null ? "–" : <Time at={at} page={page} />),
          },
          {
            head: "Duration",
            isNumber: true,
            cell: ({ accepted_at, completed_at }) =>
              age(Date.parse(completed_at ?? accepted_at) - Date.parse(accepted_at)),
          },
          {
            head: "Proof",
            phone: "first",
            cell: ({ request_id }) => <ReceiptButton requestId={request_id} page={page} />,
          },
        ]}
      />
    </>
  );
}

interface WorkProps {
  readonly open: DeletionPage;
  readonly form: DeletionForm | undefined;
  readonly onForm: (form: DeletionForm | undefined) => void;
  readonly onProblem: (problem: string) => void;
  readonly page: Page;
}

/** The number of open requests, what they wait for, and the button of the forms. */
function Work({ open: { data, meta }, form, onForm, onProblem, page }: WorkProps): VNode {
  const stuck = (meta.reasons ?? []).reduce((sum, reason) => sum + reason.stuck, 0);
  const [oldest] = data;
  return (
    <Head
      page={page}
      title="Deletions"
      figure={{
        value: count(meta.total),
        unit: stuck === 0 ? "open, none stuck" : `open, ${count(stuck)} stuck ▲`,
        isGood: stuck > 0 ? false : undefined,
      }}
      facts={oldest === undefined ? [] : [["Oldest open", <Oldest key="oldest" oldest={oldest} page={page} />]]}
      actions={
        <button
          type="button"
          class="primary"
          aria-expanded={form !== undefined}
          onClick={() => onForm(form === undefined ? "one" : undefined)}
        >
          New deletion
        </button>
      }
    >
      <WaitingDeletions reasons={meta.reasons ?? []} page={page} onOpen={onProblem} />
    </Head>
  );
}
