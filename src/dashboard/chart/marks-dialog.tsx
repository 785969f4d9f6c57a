import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ChartMark } from "../chart-mark.js";
import { fullTime } from "../format.js";
import { Dialog } from "../page/dialog.js";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";

interface MarksDialogProps {
  readonly marks: readonly ChartMark[];
  readonly page: Page;
  readonly close: () => void;
}

/** Marks with their whole texts. A key with the scope `metric:write` can delete one, after a question. */
export function MarksDialog({ marks, page, close }: MarksDialogProps): VNode {
  const { run, isRunning, problem } = useTask();
  /** The mark that the question is about. */
  const [asked, ask] = useState<string>();
  const remove = (id: string) =>
    run(async (signal) => {
      await page.client.removeMark(id, { signal });
      close();
      page.reload();
    });
  return (
    <Dialog label={marks.length === 1 ? "Mark" : "Marks"} close={close}>
      <ul class="mark-list">
        {marks.map(({ id, at, text, of }) => (
          <li key={id}>
            <p>{text}</p>
            <p class="note">
              <time dateTime={new Date(at).toISOString()}>{fullTime(at, page.zone)}</time> ·{" "}
              {of === undefined ? "all charts" : `charts of ${of}`}
            </p>
            {page.scopes.has("metric:write") &&
              (asked === id ? (
                <p class="controls">
                  Delete it for everybody?
                  <button type="button" class="danger" disabled={isRunning} onClick={() => remove(id)}>
                    Delete
                  </button>
                  <button type="button" onClick={() => ask(undefined)}>
                    Keep
                  </button>
                </p>
              ) : (
                <button type="button" class="icon" aria-label={`Delete the mark ${text}`} onClick={() => ask(id)}>
                  ×
                </button>
              ))}
          </li>
        ))}
      </ul>
      {problem !== undefined && <p role="alert">{problem}</p>}
      <p class="controls">
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  );
}
