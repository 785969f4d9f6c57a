import type { VNode } from "preact";
import { newestSlot } from "../fetch-series.js";
import { count } from "../format.js";
import { findEntry } from "../list/entries.js";
import { Time } from "../list/time.js";
import { valueIn } from "../list/value.js";
import { seriesOf, sizeOf } from "../list/wanted.js";
import { segmentNames } from "../rules/use-segment-names.js";
import { ExperienceLinks } from "./experience-links.js";
import { findExperiences } from "./find-experiences.js";
import { findMoves, JoinedAndLeft, movesOf } from "./joined-and-left.js";
import { Members } from "./members.js";
import { seriesView } from "./series-view.js";
import { UnitChart } from "./unit-chart.js";

/** One segment: its size, its trend, who joined and left, the experiences that use it, its members. */
export const { load, Show } = seriesView({
  dimension: "segment",
  list: { name: "segments", label: "Segments" },
  unknown: "no segment with the id",
  find: (page, id) => findEntry("segment", id, page),
  name: ({ name }) => name,
  wanted: (id, row) => [sizeOf(row ?? { id, name: id }), ...movesOf(id)],
  async more(page, id, row) {
    if (row === undefined) return { users: [], moves: undefined };
    const [users, moves, rule, names] = await Promise.all([
      findExperiences(page, ({ audience, goal }) => audience === id || goal === id),
      findMoves(row, page),
      // Loaded before the page is drawn: a card that comes later would move the others.
      row.by_rule ? import("../rules/segment-rule.js") : undefined,
      segmentNames(row.rule, page),
    ]);
    return { users, moves, Rule: rule && { Card: rule.SegmentRule, names } };
  },
  about: ({ id, row }) => (
    <p class="note">
      {id}
      {row === undefined ? " is not in the catalogue" : `, table ${row.table}`}
    </p>
  ),
  figure({ id, row, recent, page }) {
    const newest = newestSlot(seriesOf(recent, sizeOf(row ?? { id, name: id })));
    if (newest === undefined)
      return { value: valueIn(row?.size, "members"), unit: row === undefined ? "members" : "members now" };
    const at = <Time at={new Date(newest.at).toISOString()} page={page} />;
    return { value: valueIn(newest.value, "members"), unit: <>members at {at}</> };
  },
  change: ({ row }) => row && { ...row, unit: "members" },
  facts: ({ row, more: { users, moves } }) => [
    ...(moves === undefined
      ? []
      : [
          ["Joined", <Moves key="joined" style="good" people={moves.joined} />] as const,
          ["Left", <Moves key="left" style="bad" people={moves.left} />] as const,
        ]),
    ...(row === undefined ? [] : [["Used by", `${users.length} experience${users.length === 1 ? "" : "s"}`] as const]),
  ],
  cards: ({ id, row, more: { users, Rule }, fetched, page }) => (
    <>
      <UnitChart unit="members" fetched={fetched} page={page} />
      <JoinedAndLeft fetched={fetched} page={page} />
      {row !== undefined && Rule !== undefined && <Rule.Card key={id} segment={row} names={Rule.names} page={page} />}
      {users.length > 0 && (
        <ExperienceLinks
          title="Experiences that use it"
          experiences={users}
          role={({ audience }) => (audience === id ? "audience" : "goal")}
          page={page}
        />
      )}
      {row !== undefined && <Members segment={row} page={page} />}
    </>
  ),
});

function Moves({ people, style }: { readonly people: number; readonly style: string }): VNode {
  return (
    <data class={style} value={people}>
      {count(people)}
    </data>
  );
}
