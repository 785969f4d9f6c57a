import type { VNode } from "preact";
import type { ListPage } from "../../client/client.js";
import { count } from "../format.js";

interface PagerProps {
  readonly list: ListPage<unknown>;
  /** Rows of a page. */
  readonly size: number;
  /** Cursors of the pages up to the one shown; empty on the first page. */
  readonly cursors: readonly string[];
  readonly onChange: (cursors: readonly string[]) => void;
}

/** `1–50 of 5,000`, with Previous and Next if there are several pages. */
export function Pager({ list: { data, meta }, size, cursors, onChange }: PagerProps): VNode {
  const first = cursors.length * size + 1;
  const rows = data.length === 0 ? "0" : `${count(first)}–${count(first + data.length - 1)}`;
  const { next, total } = meta;
  return (
    <div class="pager">
      <span role="status">
        {rows} of {count(total)}
      </span>
      {(cursors.length > 0 || next !== null) && (
        <>
          <button type="button" disabled={cursors.length === 0} onClick={() => onChange(cursors.slice(0, -1))}>
            Previous
          </button>
          <button type="button" disabled={next === null} onClick={() => next !== null && onChange([...cursors, next])}>
            Next
          </button>
        </>
      )}
    </div>
  );
}
