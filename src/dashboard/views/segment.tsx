import { newestOf } from "../fetch-series.js";
import { changeOf } from "../figures.js";
import { count } from "../format.js";
import { valueIn } from "../list/columns.js";
import { findEntry } from "../list/entries.js";
import { seriesOf, sizeOf } from "../list/wanted.js";
import { Later } from "../page/later.js";
import { rangeWords } from "../range.js";
import { ExperienceLinks } from "./experience-links.js";
import { findExperiences } from "./find-experiences.js";
import { findMoves, JoinedAndLeft, movesOf } from "./joined-and-left.js";
import { Members } from "./members.js";
import { seriesView } from "./series-view.js";
import { UnitChart } from "./unit-chart.js";

const segmentRule = async () => (await import("../rules/segment-rule.js")).SegmentRule;

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
    const [users, moves] = await Promise.all([
      findExperiences(page, ({ audience, goal }) => audience === id || goal === id),
      findMoves(row, page),
    ]);
    return { users, moves };
  },
  about: ({ id, row }) => (
    <p class="note">
      {id}
      {row === undefined ? " is not in the catalogue" : `, table ${row.table}`}
    </p>
  ),
  figure: ({ id, row, recent }) =>
    row === undefined
      ? { value: valueIn(newestOf(seriesOf(recent, sizeOf({ id, name: id }))), "members"), unit: "newest saved size" }
      : { value: valueIn(row.size, "members"), unit: "members now" },
  change: ({ row, page }) => row && `${changeOf(row, "members", page.zone)} in ${rangeWords(page)}`,
  facts: ({ more: { moves } }) =>
    moves === undefined
      ? []
      : [
          ["Joined", <span class="good">{count(moves.joined)}</span>],
          ["Left", <span class="bad">{count(moves.left)}</span>],
        ],
  cards: ({ id, row, more: { users }, fetched, page }) => (
    <>
      <UnitChart title="Trend" unit="members" fetched={fetched} page={page} />
      <JoinedAndLeft fetched={fetched} page={page} />
      {row?.by_rule && <Later key={id} script={segmentRule} props={{ segment: row, page }} />}
      <ExperienceLinks
        title="Experiences that use it"
        experiences={users}
        role={({ audience }) => (audience === id ? "audience" : "goal")}
        page={page}
      />
      {row !== undefined && <Members segment={row} page={page} />}
    </>
  ),
});
