import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { DeletionInput, DeletionPreview } from "../../client/client.js";
import { csvOf } from "../csv.js";
import { count } from "../format.js";
import { FactTable } from "../list/table.js";
import { unlessNotFound } from "../optional.js";
import { Card } from "../page/card.js";
import { download } from "../page/download.js";
import type { Tables } from "../tables.js";
import type { Page } from "../view.js";
import { Confirmation } from "./confirmation.js";
import { FieldChoice, fieldOf, firstIdentity, type TypedIdentity } from "./identity-form.js";
import { type IdentityLines, identityLines } from "./identity-lines.js";
import { useTask } from "./use-task.js";

/** Previews in progress at once. */
const CONCURRENT_REQUESTS = 4;

/** Identities of which a preview is shown: each is a request. */
const MAX_PREVIEWED = 5_000;

/** Sums over the previews so far. */
interface Totals {
  readonly previewed: number;
  readonly known: number;
  readonly messages: number;
}

interface Requested {
  readonly ids: readonly string[];
  readonly rejected: number;
}

interface DeleteManyProps {
  readonly tables: Tables;
  readonly page: Page;
}

/** Deletes the people whose identities are in a file. Opened by a button, so that the view has one form at first. */
export function DeleteMany(props: DeleteManyProps): VNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <Card title="Delete many people">
      {isOpen ? (
        <FileForm {...props} />
      ) : (
        <button type="button" onClick={() => setOpen(true)}>
          From a file
        </button>
      )}
    </Card>
  );
}

/** Counts first, then confirmation, then request ids to download. */
function FileForm({ tables, page }: DeleteManyProps): VNode {
  const [chosen, setChosen] = useState(() => firstIdentity(tables));
  const [isChosen, setIsChosen] = useState(false);
  const [text, setText] = useState<string>();
  const [lines, setLines] = useState<IdentityLines>();
  const [totals, setTotals] = useState<Totals>();
  const [requested, setRequested] = useState<Requested>();
  const { run, isRunning, problem } = useTask(page);
  const { table, field } = chosen;
  // Another file or field means other people: start from the beginning.
  useEffect(() => {
    setLines(undefined);
    setTotals(undefined);
    setRequested(undefined);
    run(async (signal) => {
      if (text === undefined) return;
      const read = identityLines(text, { table, field }, tables);
      setLines(read);
      if (page.scopes.has("entity:read")) await previewAll(read.items.slice(0, MAX_PREVIEWED), page, signal, setTotals);
    });
  }, [text, table, field]);
  const picked = useRef<File | undefined>(undefined);
  const open = async (file: File | undefined) => {
    picked.current = file;
    const read = await file?.text();
    if (picked.current !== file) return;
    setText(read);
    const [first = ""] = read?.split("\n", 1) ?? [];
    if (!isChosen) setChosen({ ...chosen, field: fieldOf(first, tables[table] ?? []) });
  };
  const choose = (changed: TypedIdentity) => {
    setIsChosen(true);
    setChosen(changed);
  };
  const request = (items: readonly DeletionInput[]) =>
    run(async (signal) => {
      const ids: string[] = [];
      setRequested({ ids, rejected: 0 });
      let rejected = 0;
      for await (const received of page.client.deleteEntities(items, { signal })) {
        if ("errors" in received) rejected += 1;
        else ids.push(received.request_id as string);
        setRequested({ ids, rejected });
      }
    });
  return (
    <>
      <form class="fields" autocomplete="off">
        {requested === undefined && <FieldChoice tables={tables} identity={chosen} onChange={choose} />}
        <label>
          File
          <input
            type="file"
            disabled={isRunning && requested !== undefined}
            accept=".csv,.txt,.ndjson,.jsonl"
            onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
          />
        </label>
      </form>
      <p class="note">
        One value a line of the chosen field; CSV with a column value, or with the names of identity fields; or NDJSON.
      </p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {lines !== undefined && <Counts lines={lines} totals={totals} />}
      {lines !== undefined && lines.items.length > 0 && requested === undefined && (
        <Confirmation isRunning={isRunning} onConfirm={() => request(lines.items)} />
      )}
      {requested !== undefined && <Result requested={requested} />}
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

function Counts({ lines, totals }: { readonly lines: IdentityLines; readonly totals: Totals | undefined }): VNode {
  const rows: (readonly [string, string])[] = [["Identities in the file", count(lines.items.length)]];
  if (lines.rejected.length > 0)
    rows.push(["Lines without one", `${count(lines.rejected.length)}, the first is line ${lines.rejected[0]}`]);
  if (totals !== undefined) {
    rows.push(["Previewed", count(totals.previewed)]);
    rows.push(["Of people with a profile", count(totals.known)]);
    rows.push(["Their messages", count(totals.messages)]);
  }
  return <FactTable caption="What would be removed" heads={["Found", "Count"]} rows={rows} />;
}

function Result({ requested: { ids, rejected } }: { readonly requested: Requested }): VNode {
  const save = () =>
    download(
      "deletion-requests.csv",
      new Blob([csvOf([["request_id"], ...ids.map((id) => [id])])], { type: "text/csv" }),
    );
  return (
    <p class="controls">
      <span role="status">
        {count(ids.length)} accepted, {count(rejected)} rejected.
      </span>
      <button type="button" onClick={save}>
        Download request ids
      </button>
    </p>
  );
}
