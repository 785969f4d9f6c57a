import type { VNode } from "preact";
import type { EntityAnswer, ExplainedMembership } from "../../client/client.js";
import { fullTime, type Zone } from "../format.js";
import { type Column, FactTable, Table } from "../list/table.js";
import type { Optional } from "../optional.js";
import { Card } from "../page/card.js";
import { Fact } from "../page/fact.js";
import { Link } from "../page/link.js";
import { Why } from "../rules/why.js";
import type { Page } from "../view.js";

interface ProfileProps {
  readonly entity: EntityAnswer;
  /** Refused to a key whose bounds exclude segments. */
  readonly memberships: Optional<readonly ExplainedMembership[]>;
  readonly page: Page;
}

/** Identities, attributes and origin of a profile, and why it is in each of its segments. */
export function Profile({ entity: { data, meta }, memberships, page }: ProfileProps): VNode {
  const { segments: _, ...attributes } = data;
  const fields = new Set(meta?.by_fields);
  const entries = Object.entries(attributes);
  const { zone } = page;
  const isBounded = page.key.fields !== undefined;
  return (
    <div class="profile">
      <Card title="Profile">
        <Facts title="Identities" entries={entries.filter(([name]) => fields.has(name))} isBounded={isBounded} />
        <Facts title="Attributes" entries={entries.filter(([name]) => !fields.has(name))} isBounded={isBounded} />
        {meta !== undefined && (
          <dl class="facts">
            <Fact name="Created">{timeOf(meta.created_at, zone)}</Fact>
            <Fact name="Modified">{timeOf(meta.modified_at, zone)}</Fact>
            <Fact name="Streams">{meta.streams.join(", ") || "–"}</Fact>
          </dl>
        )}
      </Card>
      <Card title="Segments, and why">
        {memberships.refusal !== undefined && <p class="note">{memberships.refusal}</p>}
        {memberships.value !== undefined && <Memberships memberships={memberships.value} page={page} />}
      </Card>
    </div>
  );
}

interface FactsProps {
  readonly title: string;
  readonly entries: readonly [string, unknown][];
  /** Whether the key reads some attributes only, so an empty list does not mean that the profile has none. */
  readonly isBounded: boolean;
}

function Facts({ title, entries, isBounded }: FactsProps): VNode {
  const rows = entries.map(([name, value]) => [name, textOf(value)] as const);
  return (
    <>
      <FactTable caption={title} heads={[title, "Value"]} rows={rows} />
      {entries.length === 0 && <p class="note">{isBounded ? "Not visible to this key." : "None."}</p>}
    </>
  );
}

interface MembershipsProps {
  readonly memberships: readonly ExplainedMembership[];
  readonly page: Page;
}

function Memberships({ memberships, page }: MembershipsProps): VNode {
  if (memberships.length === 0) return <p class="note">None.</p>;
  const columns: readonly Column<ExplainedMembership>[] = [
    {
      head: "Segment",
      cell: ({ id, name }) => (
        <Link to={{ view: "segment", id }} page={page}>
          {name}
        </Link>
      ),
    },
    { head: "Since", cell: ({ since }) => timeOf(since, page.zone) },
    { head: "Stream", cell: (row) => messageOf(row)?.stream },
    { head: "Event time", cell: (row) => timeOf(messageOf(row)?.event_time, page.zone) },
    { head: "Received", cell: (row) => timeOf(messageOf(row)?.received_at, page.zone) },
  ];
  return (
    <>
      <Table caption="Segments" columns={columns} rows={memberships} rowKey={({ id }) => id} />
      {memberships
        .filter((row) => messageOf(row) === undefined)
        .map((row) => (
          <details key={row.id}>
            <summary>Why in {row.name}</summary>
            <Why explained={row} page={page} />
          </details>
        ))}
    </>
  );
}

/** Returns the message behind a membership; undefined for a segment by rule. */
function messageOf({ by }: ExplainedMembership) {
  return by !== null && "stream" in by ? by : undefined;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every((one) => typeof one === "string")
    ? value.join(", ")
    : JSON.stringify(value);
}

const timeOf = (text: string | undefined, zone: Zone) =>
  text && <time dateTime={text}>{fullTime(Date.parse(text), zone)}</time>;
