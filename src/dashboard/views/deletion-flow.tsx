import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { DeletionPreview } from "../../client/client.js";
import { count } from "../format.js";
import { FactTable } from "../list/table.js";
import { unlessNotFound } from "../optional.js";
import type { Page } from "../view.js";
import { Confirmation } from "./confirmation.js";
import type { TypedIdentity } from "./identity-form.js";
import { stageName } from "./stage-name.js";
import { useFocus } from "./use-focus.js";
import { useTask } from "./use-task.js";

interface DeletionFlowProps {
  readonly identity: TypedIdentity;
  readonly page: Page;
  /** Called with the request id of the accepted deletion. */
  readonly onRequested: (requestId: string) => void;
}

/** Preview in counts, confirmation by a word, request. Its card gets the focus. */
export function DeletionFlow({ identity, page, onRequested }: DeletionFlowProps): VNode {
  const [preview, setPreview] = useState<DeletionPreview | "unknown" | "not allowed">();
  const { run, isRunning, problem } = useTask();
  const card = useFocus<HTMLElement>();
  const { table, field, value } = identity;
  useEffect(() => {
    setPreview(undefined);
    run(async (signal) => {
      if (!page.scopes.has("entity:read")) return setPreview("not allowed");
      setPreview((await unlessNotFound(page.client.previewDeletion(table, field, value, { signal }))) ?? "unknown");
    });
  }, [table, field, value]);
  const request = () =>
    run(async (signal) => {
      const { request_id } = await page.client.requestDeletion(table, field, value, { signal });
      onRequested(request_id);
    });
  return (
    <section ref={card} class="card" tabIndex={-1}>
      <h2>Delete this person</h2>
      <p>The profile disappears from all reads at once, and for good: nothing brings it back.</p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {preview === "unknown" && (
        <p role="status">No live profile has this identity. A deletion still drops its late messages.</p>
      )}
      {preview === "not allowed" && <p role="status">A preview also needs the scope entity:read.</p>}
      {typeof preview === "object" && <PreviewTable preview={preview} />}
      {preview !== undefined && (
        <Confirmation key={`${table} ${field} ${value}`} isRunning={isRunning} onConfirm={request} />
      )}
    </section>
  );
}

function PreviewTable({ preview }: { readonly preview: DeletionPreview }): VNode {
  const { profiles, identities, messages, segments, targets } = preview;
  const listOf = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, number]) => `${count(number)} ${name}`)
      .join(", ") || "none";
  const rows: readonly (readonly [string, string])[] = [
    ["Profiles", count(profiles)],
    ["Identities", listOf(identities)],
    ["Messages by stream", listOf(messages)],
    ["Segments", count(segments)],
    ["Targets", targets.map(stageName).join(", ") || "none"],
  ];
  return <FactTable caption="What would be removed" heads={["Removed", "Count"]} rows={rows} />;
}
