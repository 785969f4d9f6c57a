import { fetchSeries } from "../fetch-series.js";
import type { Moved } from "../figures.js";
import { endOf, hourlyWindow, type TimeWindow, windowOf } from "../time-window.js";
import type { Page } from "../view.js";
import { ExperienceLinks } from "./experience-links.js";
import { findExperiences } from "./find-experiences.js";
import { newestReach } from "./newest-reach.js";
import { Funnel, ReachCharts, rateFigure, wantedReach } from "./reach.js";
import { seriesView } from "./series-view.js";

const DIMENSION = "experiencegroup";

/** One group: the sums over its experiences, and the experiences. */
export const { load, Show } = seriesView({
  dimension: DIMENSION,
  list: { name: "experiences", label: "Experiences" },
  unknown: "no experience in a group with the id",
  async find(page, id) {
    const experiences = await findExperiences(page, ({ group }) => group === id);
    return experiences.length === 0 ? undefined : experiences;
  },
  wanted: (id) => wantedReach(DIMENSION, id),
  more: firstRate,
  figure: ({ recent, page }) => rateFigure(recent, page),
  change: ({ more: first, recent }) => first && { ...first, now: newestReach(recent)?.rate ?? null, unit: "rate" },
  below: Funnel,
  cards: ({ row = [], fetched, page }) => (
    <>
      <ReachCharts fetched={fetched} page={page} />
      <ExperienceLinks title="Experiences of this group" experiences={row} page={page} />
    </>
  ),
});

/**
 * Returns the first conversion rate of the window, which the list of experiences contains for an experience. First its
 * bucket is searched, then its hour.
 */
async function firstRate(page: Page, id: string): Promise<Moved | undefined> {
  const first = async (window: TimeWindow) => {
    const rate = { dimension: DIMENSION, dimension_id: id, dimension_type: "conversionrate", window, compare: false };
    const values = (await fetchSeries([rate], page)).series[0]?.values ?? [];
    const at = values.findIndex((value) => value !== null);
    return at < 0 ? undefined : { at: window.buckets[at] as number, end: endOf(window, at), value: values[at] ?? null };
  };
  const window = windowOf(page, DIMENSION);
  const bucket = await first(window);
  const hour = bucket && (await first(hourlyWindow(bucket.at, bucket.end)));
  if (hour === undefined) return undefined;
  return { before: hour.value, ...(hour.at > window.from ? { since: new Date(hour.at).toISOString() } : {}) };
}
