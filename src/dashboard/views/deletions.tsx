import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ListedDeletion, ListPage } from "../../client/client.js";
import { age } from "../duration.js";
import { fullTime } from "../format.js";
import { takeOpenedRequest } from "../opened.js";
import { Card } from "../page/card.js";
import { readTables, type Tables } from "../tables.js";
import type { Loaded, Page } from "../view.js";
import { DeleteMany } from "./delete-many.js";
import { ReceiptButton, TryNowButton } from "./deletion-buttons.js";
import { DeletionFlow } from "./deletion-flow.js";
import { DELETIONS_PAGE, DeletionList } from "./deletion-list.js";
import { DeletionProgress } from "./deletion-progress.js";
import { firstIdentity, IdentityForm, type TypedIdentity } from "./identity-form.js";
import { stageName } from "./stage-name.js";

interface Data {
  readonly tables: Tables;
  readonly open: ListPage<ListedDeletion>;
  readonly completed: ListPage<ListedDeletion>;
}

const REFRESH_MS = 10_000;

/** Open and completed requests; a new one, and the state of one. */
export async function load({ client, now, signal }: Page): Promise<Loaded<Data>> {
  const open = await client.page("deletion", { state: "open", limit: DELETIONS_PAGE }, { signal });
  const completed = await client.page("deletion", { state: "completed", limit: DELETIONS_PAGE }, { signal });
  return { data: { tables: readTables(), open, completed }, nextAt: now + REFRESH_MS };
}

export function Show({ data: { tables, open, completed }, page }: { readonly data: Data; readonly page: Page }): VNode {
  const { zone } = page;
  const time = (text: string | null) => (text === null ? "–" : fullTime(Date.parse(text), zone));
  const [requestId, setRequestId] = useState(takeOpenedRequest);
  const requestOf = ({ request_id }: ListedDeletion) => (
    <button type="button" class="plain" onClick={() => setRequestId(request_id)}>
      <code>{request_id}</code>
    </button>
  );
  return (
    <>
      <h1 class="hidden">Deletions</h1>
      {page.scopes.has("entity:delete") && <NewDeletion tables={tables} page={page} onRequested={setRequestId} />}
      {page.scopes.has("entity:delete") && <DeleteMany tables={tables} page={page} />}
      <LookUp onSubmit={setRequestId} />
      {requestId !== undefined && <DeletionProgress key={requestId} requestId={requestId} page={page} />}
      <DeletionList
        title="Open deletions"
        state="open"
        first={open}
        page={page}
        columns={[
          { head: "Request", cell: requestOf },
          { head: "Accepted", cell: ({ accepted_at }) => time(accepted_at) },
          { head: "Age", isNumber: true, cell: ({ accepted_at }) => age(page.now - Date.parse(accepted_at)) },
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
      />
      <DeletionList
        title="Completed deletions"
        state="completed"
        first={completed}
        page={page}
        columns={[
          { head: "Request", cell: requestOf },
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
