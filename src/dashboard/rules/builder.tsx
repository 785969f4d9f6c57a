import type { VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Attribute, Segment } from "../../client/client.js";
import type { Rule } from "../../segments/rule.js";
import { optional, unlessNotFound } from "../optional.js";
import { Card } from "../page/card.js";
import { Choice } from "../page/choice.js";
import { Dialog } from "../page/dialog.js";
import { readTables } from "../tables.js";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";
import { groupOf, newCondition, newGroup, parsedJson, ruleOf } from "./draft.js";
import { TextField } from "./fields.js";
import { GroupRows } from "./group-rows.js";
import { matchWords, moveWords } from "./preview-words.js";
import { ruleSentence } from "./rule-words.js";
import { type PreviewResult, usePreview } from "./use-preview.js";
import { useSegmentNames } from "./use-segment-names.js";

interface BuilderProps {
  /** The segment by rule that is edited; undefined for a new one. */
  readonly segment?: Segment;
  readonly page: Page;
  readonly close: () => void;
}

type JsonObject = { readonly [field: string]: unknown };

/** Builds the rule of a segment from rows, with a preview of how many people match. */
export function Builder({ segment, page, close }: BuilderProps): VNode {
  const tables = Object.keys(readTables());
  const [entry, setEntry] = useState({ id: "", name: "", table: tables[0] ?? "user", ...segment });
  const { id, name, table } = entry;
  const [draft, setDraft] = useState(() =>
    segment === undefined ? newGroup("all", [newCondition()]) : groupOf(segment.rule),
  );
  const [isAsking, setAsking] = useState(false);
  const { run, isRunning, problem } = useTask();
  const added = useRef<number>(segment === undefined ? undefined : draft.key);
  const attributes = useAttributes(table, page);
  /** The rule as it is typed; undefined while it is built from rows. */
  const [json, setJson] = useState<string>();
  const rule = (json === undefined ? ruleOf(draft) : parsedJson(json)) as JsonObject | undefined;
  const turn = () => {
    if (json !== undefined) setDraft(groupOf(rule));
    setJson(json === undefined ? JSON.stringify(rule, null, 2) : undefined);
  };
  const result = usePreview({ table, rule, id: segment?.id }, page);

  const store = () =>
    run(async (signal) => {
      if (segment === undefined && (await unlessNotFound(page.client.segment(id, { signal }))) !== undefined)
        throw new Error("A segment has this id.");
      const named = name === "" ? {} : { name };
      await page.client.putSegment(id, { ...named, table, rule: rule as JsonObject }, { signal });
      close();
      if (segment === undefined) page.go({ view: "segment", id });
      else page.reload();
    });
  // Only a rule that was previewed can be saved, so that it is known who would leave.
  const preview = JSON.stringify(result?.rule) === JSON.stringify(rule) ? result?.preview : undefined;
  return (
    <Card
      title={segment === undefined ? "New segment by rule" : `Rule of “${segment.name}”`}
      actions={
        <button type="button" class="quiet" disabled={rule === undefined} onClick={turn}>
          {json === undefined ? "as JSON" : "as rows"}
        </button>
      }
    >
      {segment === undefined && (
        <div class="controls">
          <span class="controls">
            Id <TextField label="Id" value={id} onType={(text) => setEntry({ ...entry, id: text })} />
          </span>
          <span class="controls">
            Name <TextField label="Name" value={name} onType={(text) => setEntry({ ...entry, name: text })} />
          </span>
          <Choice
            label="Table"
            value={table}
            options={tables}
            onChoose={(chosen) => setEntry({ ...entry, table: chosen })}
          />
        </div>
      )}
      {json === undefined ? (
        <GroupRows
          group={draft}
          path="rule"
          context={{ page, table, attributes, issue: result?.issue, added }}
          onChange={setDraft}
        />
      ) : (
        <textarea
          aria-label="Rule as JSON"
          rows={12}
          spellcheck={false}
          value={json}
          onInput={({ currentTarget }) => setJson(currentTarget.value)}
        />
      )}
      <div class="saving">
        <Preview result={result} isComplete={rule !== undefined} segment={segment} page={page} />
        <div class="controls">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            disabled={preview === undefined || id === "" || isRunning}
            onClick={preview?.leaving ? () => setAsking(true) : store}
          >
            Save rule
          </button>
        </div>
      </div>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {isAsking && preview !== undefined && segment !== undefined && (
        <Dialog label="Save the rule" close={() => setAsking(false)}>
          <p>{moveWords(preview, segment.size)}</p>
          {/* The first button has the focus: Enter held down on Save rule saves nothing. */}
          <p class="controls">
            <button type="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button
              type="button"
              class="danger"
              onClick={() => {
                setAsking(false);
                store();
              }}
            >
              Save all the same
            </button>
          </p>
        </Dialog>
      )}
    </Card>
  );
}

/** Returns a function that reads the attributes of a table once; none for a key that may not read them. */
function useAttributes(table: string, { client }: Page): () => Promise<readonly Attribute[]> {
  return useMemo(() => {
    let read: Promise<readonly Attribute[]> | undefined;
    return () => {
      read ??= optional(client.attributes(table)).then(({ value = [] }) => value);
      read.catch(() => {
        read = undefined;
      });
      return read;
    };
  }, [table]);
}

interface PreviewProps {
  readonly result: PreviewResult | undefined;
  readonly isComplete: boolean;
  readonly segment: Segment | undefined;
  readonly page: Page;
}

/** The last previewed rule as a sentence, and how many people match it. */
function Preview({ result, isComplete, segment, page }: PreviewProps): VNode {
  const { rule, preview, issue, failure } = result ?? {};
  const names = useSegmentNames(rule, page);
  return (
    <div role="status">
      {!isComplete && <p class="note">Complete every condition to see how many people match.</p>}
      {isComplete && preview !== undefined && (
        <>
          <p>{ruleSentence(rule as unknown as Rule, names)}</p>
          <p>
            <span class="value">{matchWords(preview)[0]}</span>
            <span class="note">{matchWords(preview)[1]}</span>
          </p>
          <p class="note">
            {segment !== undefined && `${moveWords(preview, segment.size)} `}
            {preview.computing && "A segment in the rule is computing. "}
            Charts get a mark; no size is saved until everyone is decided.
          </p>
        </>
      )}
      {isComplete && issue !== undefined && (
        <p class="bad">
          {issue.path}: {issue.message}
        </p>
      )}
      {isComplete && failure !== undefined && <p class="bad">{failure}</p>}
    </div>
  );
}
