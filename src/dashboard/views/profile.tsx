import type { VNode } from "preact";
import type { EntityAnswer, ExplainedMembership } from "../../client/client.js";
import { fullTime, type Zone } from "../format.js";
import { Card } from "../page/card.js";
import { Fact } from "../page/fact.js";
import { Link } from "../page/link.js";
import { Scroll } from "../page/scroll.js";
import type { Page } from "../view.js";

interface ProfileProps {
  readonly entity: EntityAnswer;
  readonly memberships: readonly ExplainedMembership[];
  readonly page: Page;
}

/** Identities, attributes and origin of a profile, and why it is in each of its segments. */
export function Profile({ entity: { data, meta }, memberships, page }: ProfileProps): VNode {
  const { segments: _, ...attributes } = data;
  const fields = new Set(meta?.by_fields);
  const entries = Object.entries(attributes);
  const { zone } = page;
  return (
    <div class="halves">
      <Card title="Profile">
        <Facts title="Identities" entries={entries.filter(([name]) => fields.has(name))} />
        <Facts title="Attributes" entries={entries.filter(([name]) => !fields.has(name))} />
        {meta !== undefined && (
          <dl class="facts">
            <Fact name="Created">{timeOf(meta.created_at, zone)}</Fact>
            <Fact name="Modified">{timeOf(meta.modified_at, zone)}</Fact>
            <Fact name="Streams">{meta.streams.join(", ") || "–"}</Fact>
          </dl>
        )}
      </Card>
      <Card title="Segments, and why">
        <Memberships memberships={memberships} page={page} />
      </Card>
    </div>
  );
}

function Facts({ title, entries }: { readonly title: string; readonly entries: [string, unknown][] }): VNode {
  return (
    <Scroll label={title}>
      <table>
        <caption class="hidden">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{textOf(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length === 0 && <p class="note">None.</p>}
    </Scroll>
  );
}

interface MembershipsProps {
  readonly memberships: readonly ExplainedMembership[];
  readonly page: Page;
}

function Memberships({ memberships, page }: MembershipsProps): VNode {
  if (memberships.length === 0) return <p class="note">None.</p>;
  return (
    <Scroll label="Segments">
      <table>
        <caption class="hidden">Segments</caption>
        <thead>
          <tr>
            <th scope="col">Segment</th>
            <th scope="col">Since</th>
            <th scope="col">Stream</th>
            <th scope="col">Event time</th>
            <th scope="col">Received</th>
          </tr>
        </thead>
        <tbody>
          {memberships.map(({ id, name, since, by }) => (
            <tr key={id}>
              <th scope="row">
                <Link to={{ view: "segment", id }} page={page}>
                  {name}
                </Link>
              </th>
              <td>{timeOf(since, page.zone)}</td>
              <td>{by.stream}</td>
              <td>{timeOf(by.event_time, page.zone)}</td>
              <td>{timeOf(by.received_at, page.zone)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every((one) => typeof one === "string")
    ? value.join(", ")
    : JSON.stringify(value);
}

const timeOf = (text: string, zone: Zone) => <time dateTime={text}>{fullTime(Date.parse(text), zone)}</time>;
