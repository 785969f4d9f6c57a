import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../page/dialog.js";
import { momentOf, momentText } from "../page/moment.js";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";

/** A thing whose charts can have a mark of their own. */
export interface MarkSubject {
  readonly dimension: string;
  readonly dimension_id: string;
}

interface NewMarkProps {
  /** Unix ms. */
  readonly at: number;
  /** The things whose series the chart has. */
  readonly subjects: readonly MarkSubject[];
  readonly page: Page;
  readonly close: () => void;
}

/** A dialog that adds a mark to all charts, or to the charts of one thing. */
export function NewMark({ at, subjects, page, close }: NewMarkProps): VNode {
  const [text, setText] = useState("");
  const [subject, setSubject] = useState<MarkSubject>();
  const [moment, setMoment] = useState(momentText(at, page.zone));
  const { run, isRunning, problem } = useTask();
  const ts = momentOf(moment, page.zone);
  const isWrong = Number.isNaN(ts);
  const add = () =>
    run(async (signal) => {
      await page.client.putMark(newId(ts), { ts: String(ts), text: text.trim(), ...subject }, { signal });
      close();
      page.reload();
    });
  return (
    <Dialog label="Add a mark" close={close}>
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isWrong && text.trim() !== "") add();
        }}
      >
        <label>
          Text{" "}
          <input
            value={text}
            maxLength={200}
            placeholder="Release 2.0"
            required
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <label>
          At{" "}
          <input
            class="time"
            size={20}
            value={moment}
            aria-invalid={isWrong || undefined}
            onInput={({ currentTarget }) => setMoment(currentTarget.value)}
          />
        </label>
        <label>
          On{" "}
          <select onChange={({ currentTarget }) => setSubject(subjects[currentTarget.selectedIndex - 1])}>
            <option>all charts</option>
            {subjects.map(({ dimension, dimension_id }) => (
              <option key={`${dimension}.${dimension_id}`}>
                charts of the {dimension} {dimension_id}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary" disabled={isRunning}>
          Add
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </form>
      {isWrong && <p role="alert">At needs a day, with or without a time: 2026-11-23 14:00.</p>}
      {problem !== undefined && <p role="alert">{problem}</p>}
    </Dialog>
  );
}

/** An id that no other mark has, in the order of the instants. */
function newId(ts: number): string {
  const random = crypto.getRandomValues(new Uint32Array(2));
  return `${new Date(ts).toISOString().slice(0, 10)}-${[...random].map((one) => one.toString(36)).join("")}`;
}
