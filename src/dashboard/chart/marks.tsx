import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ChartMark } from "../chart-mark.js";
import { Later } from "../page/later.js";
import type { Page } from "../view.js";
import { labelOf, labelsOf, wholeText } from "./mark-text.js";
import { LABEL, type Place } from "./place-marks.js";

const marksDialog = async () => (await import("./marks-dialog.js")).MarksDialog;

interface MarksProps {
  readonly marks: readonly ChartMark[];
  readonly place: Place;
  readonly page: Page;
}

/** The labels of marks above their lines. Each opens the whole texts, and there a mark can be deleted. */
export function Marks({ marks: all, place, page }: MarksProps): VNode {
  const [opened, open] = useState<readonly ChartMark[]>();
  return (
    <>
      <ul class="marks" aria-label="Marks">
        {labelsOf(all, place, page.zone).map(({ marks, left, width }) => (
          <li key={marks[0]?.id} style={{ left: `${left}px`, width: `${width}px`, height: `${LABEL}px` }}>
            <button type="button" class="mark" title={wholeText(marks, page.zone)} onClick={() => open(marks)}>
              {labelOf(marks, page.zone)}
            </button>
          </li>
        ))}
      </ul>
      {opened !== undefined && (
        <Later script={marksDialog} props={{ marks: opened, page, close: () => open(undefined) }} />
      )}
    </>
  );
}
