import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DeletionPage, ListedDeletion } from "../../client/client.js";
import { age } from "../duration.js";
import { fullTime } from "../format.js";
import type { Column } from "../list/table.js";
import { takeOpenedRequest } from "../opened.js";
import { Card } from "../page/card.js";
import { readTables, type Tables } from "../tables.js";
import type { Loaded, Page } from "../view.js";
import { DeleteMany } from "./delete-many.js";
import { ReceiptButton } from "./deletion-buttons.js";
import { DeletionFlow } from "./deletion-flow.js";
import { DeletionList, type DeletionQuery, deletionQuery } from "./deletion-list.js";
import { DeletionProgress } from "./deletion-progress.js";
import { firstIdentity, IdentityForm, type TypedIdentity } from "./identity-form.js";
import { allOpen, OpenDeletions } from "./open-deletions.js";

interface Data {
  readonly tables: Tables;
  readonly open: DeletionPage;
  readonly completed: DeletionPage;
}

const REFRESH_MS = 10_000;

const newestCompleted: DeletionQuery = { state: "completed", order: "desc" };

/** Lists of open and completed requests, a form for a new one, and a field that shows the state of one. */
export async function load({ client, now, signal }: Page): Promise<Loaded<Data>> {
  const open = await client.page("deletion", deletionQuery(allOpen), { signal });
  const completed = await client.page("deletion", deletionQuery(newestCompleted), { signal });
  return { data: { tables: readTables(), open, completed }, nextAt: now + REFRESH_MS };
}

export function Show({ data: { tables, open, completed }, page }: { readonly data: Data; readonly page: Page }): VNode {
  const { zone } = page;
  const time = (text: string | null) => (text === null ? "–" : fullTime(Date.parse(text), zone));
  const [requestId, setRequestId] = useState(takeOpenedRequest);
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
      <h1 class="hidden">Deletions</h1>
      {page.scopes.has("entity:delete") && <NewDeletion tables={tables} page={page} onRequested={setRequestId} />}
      {page.scopes.has("entity:delete") && <DeleteMany tables={tables} page={page} />}
      <LookUp onSubmit={setRequestId} />
      {requestId !== undefined && <DeletionProgress key={requestId} requestId={requestId} page={page} />}
      <OpenDeletions open={open} request={request} page={page} />
      <DeletionList
        title="Completed deletions"
        query={newestCompleted}
        first={completed}
        page={page}
        columns={[
          request,
          { head: "Accepted", cell: ({ accepted_at }) => time(accepted_at) },
          { head: "Completed", cell: ({ completed_at }) => time(completed_at) },
          {
            head: "Duration",
            isNumber: true,
            cell: ({ accepted_at, completed_at }) =>
              age(Date.parse(completed_at ?? accepted_at) - Date.parse(accepted_at)),
          },
          { head: "Proof", cell: ({ request_id }) => <ReceiptButton requestId={request_id} page={page} /> },
        ]}
      />
    </>
  );
}

interface NewDeletionProps {
  readonly tables: Tables;
  readonly page: Page;
  readonly onRequested: (requestId: string) => void;
}

/** Table, field and value, then preview and confirmation. */
function NewDeletion({ tables, page, onRequested }: NewDeletionProps): VNode {
  const [identity, setIdentity] = useState<TypedIdentity>(() => firstIdentity(tables));
  const [confirmed, setConfirmed] = useState<TypedIdentity>();
  const change = (changed: TypedIdentity) => {
    setIdentity(changed);
    setConfirmed(undefined);
  };
  const requested = (requestId: string) => {
    setConfirmed(undefined);
    onRequested(requestId);
  };
  return (
    <>
      <Card title="New deletion">
        <IdentityForm tables={tables} identity={identity} onChange={change} onSubmit={() => setConfirmed(identity)}>
          <button type="submit">Preview</button>
        </IdentityForm>
      </Card>
      {confirmed !== undefined && <DeletionFlow identity={confirmed} page={page} onRequested={requested} />}
    </>
  );
}

/** The field for the id of a request. */
function LookUp({ onSubmit }: { readonly onSubmit: (requestId: string) => void }): VNode {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== "") onSubmit(text.trim());
  };
  return (
    <Card title="State of a request">
      <form class="controls" onSubmit={submit}>
        <label>
          Request id{" "}
          <input
            size={34}
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <button type="submit">Show</button>
      </form>
    </Card>
  );
}
