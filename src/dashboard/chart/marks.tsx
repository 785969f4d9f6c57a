import type { VNode } from "preact";
import { fullTime } from "../format.js";
import type { ChartMark } from "../marks.js";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";

interface MarksProps {
  readonly marks: readonly ChartMark[];
  readonly page: Page;
}

/** The marks of a chart as a list. A key with the scope `metric:write` also gets a button that deletes each. */
export function Marks({ marks, page }: MarksProps): VNode {
  const { run, isRunning, problem } = useTask(page);
  const remove = (id: string) =>
    run(async (signal) => {
      await page.client.removeMark(id, { signal });
      page.reload();
    });
  return (
    <>
      <ul class="marks note" aria-label="Marks">
        {marks.map(({ id, at, text }) => (
          <li key={id}>
            <time dateTime={new Date(at).toISOString()}>{fullTime(at, page.zone)}</time> {text}{" "}
            {page.scopes.has("metric:write") && (
              <button
                type="button"
                aria-label={`Delete the mark ${text}`}
                disabled={isRunning}
                onClick={() => remove(id)}
              >
                ×
              </button>
            )}
          </li>
        ))}
      </ul>
      {problem !== undefined && <p role="alert">{problem}</p>}
    </>
  );
}
