import { Fragment, type VNode } from "preact";
import { Dialog } from "./dialog.js";

const shortcuts = [
  ["1 to 9", "open a view of the bar"],
  ["⌘ K or Ctrl K", "go to a view, segment, experience, stream or request"],
  ["/", "focus the search"],
  ["r", "load again"],
  ["m", "add a mark at the point of a chart; Shift and a click do the same"],
  ["s", "share a page or chart, or download a list as CSV"],
  ["p", "show the people in a segment"],
  ["d", "delete a person"],
  ["D", "delete the people of a file"],
  ["c", "chart the ticked rows of a list together"],
  ["t", "try again what most deletions wait for"],
  ["?", "this list"],
  ["← →", "walk along the points of a chart"],
  ["Esc", "close"],
] as const;

/** The dialog with all shortcuts. */
export function ShortcutList({ close }: { readonly close: () => void }): VNode {
  return (
    <Dialog label="Keyboard" close={close}>
      <h2>Keyboard</h2>
      <dl>
        {shortcuts.map(([key, effect]) => (
          <Fragment key={key}>
            <dt>{key}</dt>
            <dd>{effect}</dd>
          </Fragment>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </Dialog>
  );
}
