import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { MemberLine, Segment } from "../../client/client.js";
import { count, fullTime } from "../format.js";
import { type Column, Table } from "../list/table.js";
import { Card } from "../page/card.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import { useTask } from "./use-task.js";

const PAGE_SIZE = 50;

type Member = Exclude<MemberLine, { readonly type: "end" }>;

/** Members of a segment: their number, a page of them on request, and all of them as NDJSON. Needs `entity:export`. */
export function Members({ segment, page }: { readonly segment: Segment; readonly page: Page }): VNode {
  const [members, setMembers] = useState<readonly Member[]>();
  const [next, setNext] = useState<string | null>(null);
  const { run, problem } = useTask(page);
  if (!page.scopes.has("entity:export"))
    return (
      <Card title="Members">
        <p>
          {count(segment.size)}. Their list needs the scope <code>entity:export</code>.
        </p>
      </Card>
    );
  const showPage = (after: string | null) =>
    run(async (signal) => {
      const input = { limit: PAGE_SIZE, ...(after === null ? {} : { after }) };
      const shown: Member[] = [];
      for await (const line of page.client.members(segment.id, input, { signal })) {
        if ("type" in line) setNext(line.next);
        else shown.push(line);
      }
      setMembers(shown);
    });
  const save = () =>
    run(async (signal) => {
      const lines: string[] = [];
      for await (const line of page.client.members(segment.id, {}, { signal })) lines.push(`${JSON.stringify(line)}\n`);
      download(`${segment.id}.ndjson`, new Blob(lines, { type: "application/x-ndjson" }));
    });
  return (
    <Card title="Members">
      <p class="controls">
        {count(segment.size)}
        <button type="button" onClick={() => showPage(null)}>
          Show
        </button>
        {next !== null && (
          <button type="button" onClick={() => showPage(next)}>
            Next
          </button>
        )}
        <button type="button" onClick={save}>
          Download NDJSON
        </button>
      </p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {members !== undefined && <MemberTable members={members} page={page} />}
    </Card>
  );
}

function MemberTable({ members, page }: { readonly members: readonly Member[]; readonly page: Page }): VNode {
  const columns: readonly Column<Member>[] = [
    { head: "Identities", cell: identitiesOf },
    { head: "Member since", cell: ({ since }) => fullTime(Date.parse(since), page.zone) },
  ];
  return <Table caption="Members" columns={columns} rows={members} keyOf={identitiesOf} />;
}

function identitiesOf({ identities }: Member): string {
  return Object.entries(identities)
    .map(([field, values]) => `${field} ${values.join(", ")}`)
    .join("; ");
}
