import type { CatalogueStore } from "../../catalogue/ports.js";
import { invalid } from "../../errors.js";
import { type ListedSeries, listedPages, type SeriesPage } from "../../metrics/listings.js";
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
  { dimension, ...among }: Pick<SeriesPage, "dimension" | "prefix" | "contains">,
  { series, catalogue }: UncataloguedDependencies,
): Promise<ListedSeries[]> {
  const { segmentsById: segment, experiencesById: experience } = catalogue;
  const byId = { segment, experience }[dimension?.name ?? ""];
  if (dimension === undefined || byId === undefined)
    throw invalid("unknown_dimension", "dimension", "catalogue=false needs the dimension segment or experience");
  const missing: ListedSeries[] = [];
  let compared = 0;
  for await (const page of listedPages(series, dimension, { ...among, limit: CHUNK })) {
    compared += page.length;
    if (compared > MAX_COMPARED) throw tooMany();
    const known = await byId(page.map(({ id }) => id));
    for (const { id, types } of page) if (!known.has(id)) missing.push({ dimension, id, types });
  }
  return missing;
}

function tooMany() {
  return invalid(
    "too_many_entries",
    "catalogue",
    `More than ${MAX_COMPARED} series match: narrow the list with prefix or q`,
  );
}
