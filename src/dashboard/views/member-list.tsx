import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { MemberLine, Segment } from "../../client/client.js";
import { Pager } from "../list/pager.js";
import { type Column, Table } from "../list/table.js";
import { Time } from "../list/time.js";
import { open as openIn } from "../opened.js";
import { keepMembers } from "../page/place.js";
import { readTables } from "../tables.js";
import type { Page } from "../view.js";
import { useTask } from "./use-task.js";

const PAGE_SIZE = 50;

type Member = Exclude<MemberLine, { readonly type: "end" }>;

interface MemberPage {
  /** Cursors of the pages up to this one. */
  readonly cursors: readonly string[];
  readonly members: readonly Member[];
  readonly next: string | null;
}

interface MemberListProps {
  readonly segment: Segment;
  /** Cursors of the pages up to the one to show. */
  readonly cursors: readonly string[];
  readonly page: Page;
  readonly onChange: (cursors: readonly string[]) => void;
}

/** A page of the members of a segment. */
export function MemberList({ segment, cursors, page, onChange }: MemberListProps): VNode {
  const [shown, setShown] = useState<MemberPage>();
  const { run, problem } = useTask();
  useEffect(() => {
    run(async (signal) => setShown(await memberPage(segment.id, cursors, page, signal)));
  }, [cursors, segment.id]);
  return (
    <>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {shown !== undefined && (
        <>
          <Pager
            list={{ data: shown.members, meta: { next: shown.next, total: segment.size } }}
            size={PAGE_SIZE}
            cursors={shown.cursors}
            onChange={onChange}
          />
          <MemberTable shown={shown} table={segment.table} page={page} />
        </>
      )}
    </>
  );
}

async function memberPage(
  segment: string,
  cursors: readonly string[],
  { client }: Page,
  signal: AbortSignal,
): Promise<MemberPage> {
  const after = cursors.at(-1);
  const input = { limit: PAGE_SIZE, ...(after === undefined ? {} : { after }) };
  const members: Member[] = [];
  let next: string | null = null;
  for await (const line of client.members(segment, input, { signal })) {
    if ("type" in line) next = line.next;
    else members.push(line);
  }
  return { cursors, members, next };
}

interface MemberTableProps {
  readonly shown: MemberPage;
  readonly table: string;
  readonly page: Page;
}

/** A row for each member, with a column for each identity field that one of them has. */
function MemberTable({ shown: { members, cursors }, table, page }: MemberTableProps): VNode {
  const open = (field: string, value: string) => {
    keepMembers(cursors);
    openIn("people", { person: { table, field, value } }, page);
  };
  const fields = (readTables()[table] ?? []).filter((field) => members.some(({ identities }) => field in identities));
  const columns = fields.map((field): Column<Member> => {
    return {
      head: field,
      cell: (member) => (
        <Values values={member.identities[field] ?? []} page={page} onOpen={(value) => open(field, value)} />
      ),
    };
  });
  const since: Column<Member> = {
    head: "Member since",
    cell: ({ since }) => <Time at={since} page={page} />,
  };
  return (
    <Table
      caption="Members"
      class="stacked"
      columns={[...columns, since]}
      rows={members}
      rowKey={({ identities }) => JSON.stringify(identities)}
    />
  );
}

interface ValuesProps {
  readonly values: readonly string[];
  readonly page: Page;
  readonly onOpen: (value: string) => void;
}

/** The values of one identity field; each opens the profile for a key that may read it. */
function Values({ values, page, onOpen }: ValuesProps): VNode {
  if (!page.scopes.has("entity:read")) return <>{values.join(", ")}</>;
  return (
    <>
      {values.map((value) => (
        <button key={value} type="button" class="plain" onClick={() => onOpen(value)}>
          <bdi>{value}</bdi>
        </button>
      ))}
    </>
  );
}
