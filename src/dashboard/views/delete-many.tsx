import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { DeletionInput, DeletionPreview } from "../../client/client.js";
import { count } from "../format.js";
import { FactTable, Table } from "../list/table.js";
import { unlessNotFound } from "../optional.js";
import type { Tables } from "../tables.js";
import type { Page } from "../view.js";
import { Confirmation } from "./confirmation.js";
import { FieldChoice, firstIdentity, type TypedIdentity } from "./identity-form.js";
import { type IdentitiesOfFile, identitiesOf, readingOf } from "./identity-lines.js";
import { ManyProgress, type Requested } from "./many-progress.js";
import { type RefusedLine, RefusedLines } from "./refused-lines.js";
import { useFocus } from "./use-focus.js";
import { useTask } from "./use-task.js";

/** Previews in progress at once. */
const CONCURRENT_REQUESTS = 4;

/** Identities of which a preview is shown: each is a request. */
const MAX_PREVIEWED = 5_000;

/** Maximum listed identities. */
const LISTED_ITEMS = 5;

/** Sums over the previews so far. */
interface Totals {
  readonly previewed: number;
  readonly known: number;
  readonly messages: number;
}

interface DeleteManyProps {
  readonly tables: Tables;
  readonly page: Page;
}

/**
 * Deletes the people whose identities are in a file: shows what was read, asks for confirmation, and follows the
 * requests to the end.
 */
export function DeleteMany({ tables, page }: DeleteManyProps): VNode {
  const field = useFocus<HTMLInputElement>();
  const [chosen, setChosen] = useState<TypedIdentity>(() => ({ ...firstIdentity(tables), field: "" }));
  const [file, setFile] = useState<File>();
  const [read, setRead] = useState<IdentitiesOfFile>();
  const [totals, setTotals] = useState<Totals>();
  const [requested, setRequested] = useState<Requested>();
  const { run, isRunning, problem } = useTask();
  const { table, field: fieldName } = chosen;
  // Another file or field means other people: start from the beginning.
  useEffect(() => {
    setRead(undefined);
    setTotals(undefined);
    setRequested(undefined);
    run(async (signal) => {
      if (file === undefined) return;
      const identities = await identitiesOf(file, chosen, await page.client.tables({ signal }));
      signal.throwIfAborted();
      const { items, likelyField } = identities;
      if (likelyField !== undefined) return setChosen({ ...chosen, field: likelyField });
      setRead(identities);
      if (page.scopes.has("entity:read")) await previewAll(items.slice(0, MAX_PREVIEWED), page, signal, setTotals);
    });
  }, [file, table, fieldName]);
  const open = (opened: File | undefined) => {
    setFile(opened);
    setChosen({ ...chosen, field: "" });
  };
  const choose = (changed: TypedIdentity) => setChosen(changed.table === table ? changed : { ...changed, field: "" });
  const request = (items: IdentitiesOfFile["items"]) =>
    run(async (signal) => {
      const [ids, refused]: [string[], RefusedLine[]] = [[], []];
      const inputs = items.map(({ line, ...item }) => item);
      setRequested({ ids, refused, left: items.length });
      for await (const received of page.client.deleteEntities(inputs, { signal })) {
        const line = items[ids.length + refused.length]?.line ?? 0;
        if ("errors" in received)
          refused.push({ line, reason: received.errors.map(({ message }) => message).join(", ") });
        else ids.push(received.request_id);
        setRequested({ ids, refused, left: items.length - ids.length - refused.length });
      }
    });
  return (
    <>
      <form class="fields" autocomplete="off">
        {requested === undefined && (
          <FieldChoice tables={tables} identity={chosen} onChange={choose} noField="by its header" />
        )}
        <label>
          File
          <input
            ref={field}
            type="file"
            disabled={isRunning && requested !== undefined}
            accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl,.gz"
            onChange={({ currentTarget }) => open(currentTarget.files?.[0])}
          />
        </label>
      </form>
      <p class="note">
        CSV with a header of identity fields, or with the columns field and value; one value a line of the chosen field;
        or JSON.
      </p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {requested !== undefined ? (
        <ManyProgress requested={requested} page={page} />
      ) : (
        read !== undefined && (
          <>
            <Counts read={read} totals={totals} />
            {read.items.length > 0 && <Confirmation isRunning={false} onConfirm={() => request(read.items)} />}
          </>
        )
      )}
      {read !== undefined && read.refused.length > 0 && (
        <RefusedLines caption="Lines that are not sent" refused={read.refused} />
      )}
    </>
  );
}

async function previewAll(
  items: readonly DeletionInput[],
  { client }: Page,
  signal: AbortSignal,
  show: (totals: Totals) => void,
): Promise<void> {
  let totals: Totals = { previewed: 0, known: 0, messages: 0 };
  const add = (preview: DeletionPreview | undefined) => {
    const messages = Object.values(preview?.messages ?? {}).reduce((sum, number) => sum + number, 0);
    totals = {
      previewed: totals.previewed + 1,
      known: totals.known + (preview === undefined ? 0 : 1),
      messages: totals.messages + messages,
    };
    show(totals);
  };
  const rest = items.values();
  const work = async () => {
    for (const { table, field, value } of rest)
      add(await unlessNotFound(client.previewDeletion(table ?? "user", field, value, { signal })));
  };
  await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, work));
}

/** Shows how a file was read, what would be removed, and the first identities. */
function Counts({ read, totals }: { readonly read: IdentitiesOfFile; readonly totals: Totals | undefined }): VNode {
  const { items } = read;
  const counts: (readonly [string, string])[] = [];
  if (totals !== undefined) {
    counts.push(["Previewed", count(totals.previewed)]);
    counts.push(["Of people with a profile", count(totals.known)]);
    counts.push(["Their messages", count(totals.messages)]);
  }
  return (
    <>
      <FactTable caption="What would be removed" heads={["Found", "Count"]} rows={[...readingOf(read), ...counts]} />
      {items.length > 0 && (
        <Table
          class="pairs"
          caption="The first identities"
          columns={[
            { head: "Line", cell: ({ line }) => count(line) },
            { head: "Field", cell: ({ field }) => field },
            { head: "Value", cell: ({ value }) => value },
          ]}
          rows={items.slice(0, LISTED_ITEMS)}
          rowKey={({ line }) => String(line)}
        />
      )}
    </>
  );
}
