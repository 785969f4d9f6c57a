import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Segment } from "../../client/client.js";
import { count } from "../format.js";
import { Card } from "../page/card.js";
import { download } from "../page/download.js";
import { Later } from "../page/later.js";
import { keptMembers } from "../page/place.js";
import type { Page } from "../view.js";
import { useTask } from "./use-task.js";

const memberList = async () => (await import("./member-list.js")).MemberList;

/** Members of a segment: their number, pages of them on request, and all of them as NDJSON. Needs `entity:export`. */
export function Members({ segment, page }: { readonly segment: Segment; readonly page: Page }): VNode {
  const [cursors, setCursors] = useState(keptMembers);
  const { run, problem } = useTask();
  if (!page.scopes.has("entity:export"))
    return (
      <Card title="Members">
        <p>
          {count(segment.size)} now. Their list needs the scope <code>entity:export</code>.
        </p>
      </Card>
    );
  const save = () =>
    run(async (signal) => {
      const lines: string[] = [];
      for await (const line of page.client.members(segment.id, {}, { signal })) lines.push(`${JSON.stringify(line)}\n`);
      download(`${segment.id}.ndjson`, new Blob(lines, { type: "application/x-ndjson" }));
    });
  return (
    <Card title="Members">
      <p class="controls">
        {count(segment.size)} now
        <button type="button" data-key="p" onClick={() => setCursors([])}>
          Show
        </button>
        <button type="button" onClick={save}>
          Download NDJSON
        </button>
      </p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {cursors !== undefined && <Later script={memberList} props={{ segment, cursors, page, onChange: setCursors }} />}
    </Card>
  );
}
