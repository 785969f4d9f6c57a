import { ExperienceLinks } from "./experience-links.js";
import { findExperiences } from "./find-experiences.js";
import { Funnel, ReachCharts, rateFigure, wantedReach } from "./reach.js";
import { seriesView } from "./series-view.js";

/** One group: the sums over its experiences, and the experiences. */
export const { load, Show } = seriesView({
  dimension: "experiencegroup",
  list: { name: "experiences", label: "Experiences" },
  unknown: "no experience in a group with the id",
  async find(page, id) {
    const experiences = await findExperiences(page, ({ group }) => group === id);
    return experiences.length === 0 ? undefined : experiences;
  },
  wanted: (id) => wantedReach("experiencegroup", id),
  more: async () => undefined,
  figure: ({ recent, page }) => rateFigure(recent, page),
  below: Funnel,
  cards: ({ row = [], fetched, page }) => (
    <>
      <ReachCharts fetched={fetched} page={page} />
      <ExperienceLinks title="Experiences of this group" experiences={row} page={page} />
    </>
  ),
});
