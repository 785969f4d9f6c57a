import type { VNode } from "preact";
import type { Experience, ListedSegment } from "../../client/client.js";
import { Chart } from "../chart/chart.js";
import { type Fetched, fetchWithRecent, newestOf, nextSaveOf } from "../fetch-series.js";
import { changeOf, sampledWindow } from "../figures.js";
import { count } from "../format.js";
import { seriesOf, sizeOf } from "../list/wanted.js";
import { Card } from "../page/card.js";
import { Fact } from "../page/fact.js";
import { Link } from "../page/link.js";
import { rangeOf } from "../range.js";
import type { Loaded, Page } from "../view.js";
import { ApiCall } from "./api-call.js";
import { findExperiences } from "./find-experiences.js";
import { hasPoints } from "./has-points.js";
import { findMoves, JoinedAndLeft, type Moves, movesOf } from "./joined-and-left.js";
import { Members } from "./members.js";

interface Data {
  /** Undefined when the catalogue has no such segment. Its series may exist all the same. */
  readonly segment: ListedSegment | undefined;
  readonly users: readonly Experience[];
  /** Newest values, whatever the range is. */
  readonly recent: Fetched;
  readonly fetched: Fetched;
  readonly moves: Moves | undefined;
}

const REFRESH_MS = 60_000;

/** One segment: its size, its trend, who joined and left, the experiences that use it, its members. */
export async function load(page: Page): Promise<Loaded<Data>> {
  const { client, address, now, signal } = page;
  const id = address.id as string;
  const listed = await client.page("segment", { id, ...sampledWindow("segment", page) }, { signal });
  const segment = listed.data[0];
  const [users, { recent, fetched }, moves] = await Promise.all([
    segment === undefined ? [] : findExperiences(page, ({ audience, goal }) => audience === id || goal === id),
    fetchWithRecent([sizeOf({ id, name: segment?.name ?? id }), ...movesOf(id)], page),
    segment === undefined ? undefined : findMoves(segment, page),
  ]);
  const isKnown = segment !== undefined || (await hasPoints(page, "segment", id));
  return {
    data: { segment, users, recent, fetched, moves },
    title: segment?.name,
    nextAt: nextSaveOf(fetched.series) ?? now + REFRESH_MS,
    problems: isKnown ? [] : [`The service has no segment with the id “${id}”.`],
  };
}

export function Show({
  data: { segment, users, recent, fetched, moves },
  page,
}: {
  readonly data: Data;
  readonly page: Page;
}): VNode {
  const id = page.address.id as string;
  const size = sizeOf({ id, name: segment?.name ?? id });
  const members = segment?.size ?? newestOf(seriesOf(recent, size));
  return (
    <>
      <section class="card">
        <p class="note">
          <Link to={{ view: "segments" }} page={page}>
            Segments
          </Link>
        </p>
        <h1>{segment?.name ?? id}</h1>
        <p class="note">
          {id}
          {segment === undefined ? " is not in the catalogue" : `, table ${segment.table}`}
        </p>
        <dl class="facts">
          <Fact name={segment === undefined ? "Newest saved size" : "Members now"}>
            {members === null ? "–" : <data value={members}>{count(members)}</data>}
          </Fact>
          {segment !== undefined && (
            <Fact name={`Change, ${rangeOf(page.address)}`}>{changeOf(segment, "members", page.zone)}</Fact>
          )}
          {moves !== undefined && (
            <Fact name={`Joined and left, ${rangeOf(page.address)}`}>
              {count(moves.joined)} joined, {count(moves.left)} left
            </Fact>
          )}
        </dl>
      </section>
      <Card title="Trend">
        <Chart series={fetched.series.filter(({ unit }) => unit === "members")} refused={fetched.refused} page={page} />
      </Card>
      <JoinedAndLeft fetched={fetched} page={page} />
      <Card title="Experiences that use it">
        {users.length === 0 ? <p class="note">None.</p> : <Users id={id} users={users} page={page} />}
      </Card>
      {segment !== undefined && <Members segment={segment} page={page} />}
      <ApiCall wanted={[size, ...movesOf(id)]} page={page} />
    </>
  );
}

interface UsersProps {
  readonly id: string;
  readonly users: readonly Experience[];
  readonly page: Page;
}

function Users({ id, users, page }: UsersProps): VNode {
  return (
    <ul>
      {users.map((one) => (
        <li key={one.id}>
          <Link to={{ view: "experience", id: one.id }} page={page}>
            {one.name}
          </Link>{" "}
          <span class="note">as {one.audience === id ? "audience" : "goal"}</span>
        </li>
      ))}
    </ul>
  );
}
