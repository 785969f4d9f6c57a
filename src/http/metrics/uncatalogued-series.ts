import type { CatalogueStore } from "../../catalogue/ports.js";
import { invalid } from "../../errors.js";
import type { Dimension } from "../../metrics/dimensions.js";
import { type ListedSeries, listSeries, type SeriesPage } from "../../metrics/listings.js";
import type { SeriesStore } from "../../metrics/ports.js";

/** Most series that one request compares with the catalogue, and how many at once. */
const MAX_COMPARED = 10_000;
const CHUNK = 1_000;

export interface UncataloguedDependencies {
  readonly series: Pick<SeriesStore, "list">;
  readonly catalogue: Pick<CatalogueStore, "segmentsById" | "experiencesById">;
}

/**
 * Returns a page of the series of segments or experiences that are not in the catalogue, and their number. Reads all
 * series of the dimension that match.
 */
export async function uncataloguedSeries(
  { after, limit, ...among }: SeriesPage,
  { series, catalogue }: UncataloguedDependencies,
): Promise<{ readonly found: ListedSeries[]; readonly total: number }> {
  const idsInCatalogue = catalogueOf(among.dimension, catalogue);
  const missingAfter = async (place: SeriesPage["after"]) => {
    const missing: ListedSeries[] = [];
    let last = place;
    for (let compared = CHUNK; ; compared += CHUNK) {
      const some = await listSeries(series, { ...among, after: last, limit: CHUNK });
      const known = await idsInCatalogue(some.map(({ id }) => id));
      missing.push(...some.filter(({ id }) => !known.has(id)));
      if (some.length < CHUNK) return missing;
      if (compared === MAX_COMPARED) throw tooMany();
      last = some.at(-1);
    }
  };
  const all = await missingAfter(undefined);
  const rest = after === undefined ? all : await missingAfter(after);
  return { found: rest.slice(0, limit), total: all.length };
}

function catalogueOf(dimension: Dimension | undefined, catalogue: UncataloguedDependencies["catalogue"]) {
  if (dimension?.name === "segment") return catalogue.segmentsById;
  if (dimension?.name === "experience") return catalogue.experiencesById;
  throw invalid("unknown_dimension", "dimension", "catalogue=false needs the dimension segment or experience");
}

function tooMany() {
  return invalid(
    "too_many_entries",
    "catalogue",
    `More than ${MAX_COMPARED} series match: narrow the list with prefix or q`,
  );
}
