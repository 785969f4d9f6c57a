import type { ComponentChildren, VNode } from "preact";
import type { EntityAnswer, ExplainedMembership } from "../../client/client.js";
import { count } from "../format.js";
import { type Column, FactTable, Table } from "../list/table.js";
import { Time } from "../list/time.js";
import type { Optional } from "../optional.js";
import { Card } from "../page/card.js";
import { Facts, type NamedValue } from "../page/facts.js";
import { Link } from "../page/link.js";
import { Why } from "../rules/why.js";
import type { Page } from "../view.js";

interface ProfileProps {
  /** The value by which the person was found. */
  readonly title: string;
  readonly entity: EntityAnswer;
  /** Refused to a key whose bounds exclude segments. */
  readonly memberships: Optional<readonly ExplainedMembership[]>;
  readonly page: Page;
  readonly actions: ComponentChildren;
}

/** Identities, attributes and origin of a profile, and why it is in each of its segments. */
export function Profile({ title, entity: { data, meta }, memberships, page, actions }: ProfileProps): VNode {
  const { segments: _, ...attributes } = data;
  const fields = new Set(meta?.by_fields);
  const entries = Object.entries(attributes);
  const isBounded = page.key.fields !== undefined;
  const time = (at: string) => <Time at={at} page={page} />;
  const facts: NamedValue[] = [];
  if (meta !== undefined)
    facts.push(
      ["Created", time(meta.created_at)],
      ["Modified", time(meta.modified_at)],
      ["Streams", meta.streams.join(", ") || "–"],
    );
  if (memberships.value !== undefined) facts.push(["Segments", count(memberships.value.length)]);
  return (
    <>
      <section class="card head">
        <h2 class="note">Profile</h2>
        <div class="largest">
          <p class="person">
            <bdi>{title}</bdi>
          </p>
          <Facts facts={facts} />
          {actions}
        </div>
      </section>
      <div class="halves profile">
        <Card title="Attributes">
          <Entries title="Identities" entries={entries.filter(([name]) => fields.has(name))} isBounded={isBounded} />
          <Entries title="Attributes" entries={entries.filter(([name]) => !fields.has(name))} isBounded={isBounded} />
        </Card>
        <Card title="Segments, and why">
          {memberships.refusal !== undefined && <p class="note">{memberships.refusal}</p>}
          {memberships.value !== undefined && <Memberships memberships={memberships.value} page={page} />}
        </Card>
      </div>
    </>
  );
}

interface EntriesProps {
  readonly title: string;
  readonly entries: readonly [string, unknown][];
  /** Whether the key reads some attributes only, so an empty list does not mean that the profile has none. */
  readonly isBounded: boolean;
}

function Entries({ title, entries, isBounded }: EntriesProps): VNode {
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
  const time = (at: string) => <Time at={at} page={page} />;
  const columns: readonly Column<ExplainedMembership>[] = [
    {
      head: "Segment",
      cell: ({ id, name }) => (
        <Link to={{ view: "segment", id }} page={page}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
    { head: "Since", cell: ({ since }) => since && time(since) },
    {
      head: "Why",
      cell: (row) => {
        const message = messageOf(row);
        if (message === undefined) return "by its rule";
        return (
          <>
            message of <bdi>{message.stream}</bdi>, {time(message.event_time)}, received {time(message.received_at)}
          </>
        );
      },
    },
  ];
  return (
    <>
      <Table class="stacked" caption="Segments" columns={columns} rows={memberships} rowKey={({ id }) => id} />
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
