import { findEntry } from "../list/entries.js";
import { unlessNotFound } from "../optional.js";
import { Link } from "../page/link.js";
import { Funnel, ReachCharts, rateFigure, wantedReach } from "./reach.js";
import { seriesView } from "./series-view.js";

/** One experience: its funnel now, three trends, its segments. */
export const { load, Show } = seriesView({
  dimension: "experience",
  list: { name: "experiences", label: "Experiences" },
  unknown: "no experience with the id",
  find: (page, id) => findEntry("experience", id, page),
  name: ({ name }) => name,
  wanted: (id) => wantedReach("experience", id),
  /** Names of its segments by id. */
  async more({ client, signal }, _, row): Promise<ReadonlyMap<string, string>> {
    const ids = row === undefined ? [] : [row.audience, row.goal];
    const segments = await Promise.all(ids.map((id) => unlessNotFound(client.segment(id, { signal }))));
    return new Map(segments.flatMap((segment) => (segment === undefined ? [] : [[segment.id, segment.name]])));
  },
  path: ({ row, page }) =>
    row?.group != null && (
      <>
        {" · "}
        <Link to={{ view: "group", id: row.group }} page={page}>
          {row.group}
        </Link>
      </>
    ),
  about: ({ id, row, more: names, page }) =>
    row === undefined ? (
      <p class="note">{id} is not in the catalogue</p>
    ) : (
      <p>
        <Link to={{ view: "segment", id: row.audience }} page={page}>
          <bdi>{names.get(row.audience) ?? row.audience}</bdi>
        </Link>
        {" → "}
        <Link to={{ view: "segment", id: row.goal }} page={page}>
          <bdi>{names.get(row.goal) ?? row.goal}</bdi>
        </Link>
      </p>
    ),
  figure: ({ recent, page }) => rateFigure(recent, page),
  change: ({ row }) => row && { ...row, unit: "rate" },
  below: Funnel,
  cards: ReachCharts,
});
