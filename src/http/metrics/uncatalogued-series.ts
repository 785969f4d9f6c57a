import type { CatalogueStore } from "../../catalogue/ports.js";
import { invalid } from "../../errors.js";
import type { Dimension } from "../../metrics/dimensions.js";
import { type ListedSeries, listSeries, type SeriesPage } from "../../metrics/listings.js";
import type { SeriesStore } from "../../metrics/ports.js";

/** Maximum series that one request compares with the catalogue. */
const MAX_COMPARED = 10_000;

/** Series compared at once. */
const CHUNK = 1_000;

export interface UncataloguedDependencies {
  readonly series: Pick<SeriesStore, "list">;
  readonly catalogue: Pick<CatalogueStore, "segmentsById" | "experiencesById">;
}

/** Returns all these series whose segment or experience is not in the catalogue, in order of id. */
export async function uncataloguedSeries(
  among: Pick<SeriesPage, "dimension" | "prefix" | "contains">,
  { series, catalogue }: UncataloguedDependencies,
): Promise<ListedSeries[]> {
  const idsInCatalogue = catalogueOf(among.dimension, catalogue);
  const missing: ListedSeries[] = [];
  let after: ListedSeries | undefined;
  for (let compared = CHUNK; ; compared += CHUNK) {
    const some = await listSeries(series, { ...among, after, limit: CHUNK, descending: false });
    const known = await idsInCatalogue(some.map(({ id }) => id));
    missing.push(...some.filter(({ id }) => !known.has(id)));
    if (some.length < CHUNK) return missing;
    if (compared === MAX_COMPARED) throw tooMany();
    after = some.at(-1);
  }
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
