import type { VNode } from "preact";
import { csvOf } from "../csv.js";
import { count } from "../format.js";
import { Table } from "../list/table.js";
import { download } from "../page/download.js";

/** A line of a file that names no one whom the service can delete. */
export interface RefusedLine {
  readonly line: number;
  readonly reason: string;
}

/** Maximum listed lines; the download has all. */
const LISTED = 20;

/** Lines with the reasons why they are refused. */
export function RefusedLines({
  caption,
  refused,
}: {
  readonly caption: string;
  readonly refused: readonly RefusedLine[];
}): VNode {
  const save = () => {
    const rows = [["line", "reason"], ...refused.map(({ line, reason }) => [String(line), reason])];
    download("refused-lines.csv", new Blob([csvOf(rows)], { type: "text/csv" }));
  };
  return (
    <>
      <p class="controls">
        <span class="note">
          {caption}: {count(refused.length)}
          {refused.length > LISTED && `; these are the first ${LISTED}`}.
        </span>
        {refused.length > LISTED && (
          <button type="button" onClick={save}>
            Download all
          </button>
        )}
      </p>
      <Table
        class="pairs"
        caption={caption}
        columns={[
          { head: "Line", cell: ({ line }) => count(line) },
          { head: "Reason", cell: ({ reason }) => reason },
        ]}
        rows={refused.slice(0, LISTED)}
        rowKey={({ line }) => String(line)}
      />
    </>
  );
}
