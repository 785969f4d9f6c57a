import { type Dimension, dimensions } from "../../metrics/dimensions.js";
import { MAX_SEGMENTS } from "../../metrics/query/cost.js";
import { typesOf } from "../../metrics/query/request.js";

/** Aliases of dimensions. */
export const aliasText = dimensions
  .flatMap(({ name, aliases }) => aliases.map((alias) => `\`${alias}\` is an alias of \`${name}\``))
  .join(", ");

/** Meaning of the ids of each dimension; ids that represent several series in a fetch. */
export const idText = [
  `The ${dimensions.map(({ idMeaning }) => idMeaning).join(", the ")}`,
  "No control characters, not ending in a backslash",
  ...dimensions.flatMap(collectiveIds),
].join(". ");

function collectiveIds({ name, everyId, sumId }: Dimension): string[] {
  const texts: string[] = [];
  if (everyId !== undefined) {
    texts.push(
      `${everyId}, with ${name}, gives a series for each ${name} of a catalogue of at most ${MAX_SEGMENTS.toLocaleString("en")}`,
    );
  }
  if (sumId !== undefined) texts.push(`${sumId}, with ${name}, gives one series: the sum over all ${name}s`);
  return texts;
}

/** The types of each dimension. */
export const typeText = typeList(typesOf);

/** The types of each dimension that are counted. */
export const countedText = typeList(({ countedTypes }) => countedTypes);

function typeList(listOf: (dimension: Dimension) => readonly string[]): string {
  const lists = dimensions.map((dimension) => ({ name: dimension.name, types: listOf(dimension) }));
  return lists
    .filter(({ types }) => types.length > 0)
    .map(({ name, types }) => `${types.map((type) => `\`${type}\``).join(", ")} of ${name}`)
    .join("; ");
}

/** Types that are computed from others. */
export const computedText = [...new Set(dimensions.flatMap(({ ratios }) => Object.keys(ratios)))]
  .map((type) => `\`${type}\``)
  .join(", ");
