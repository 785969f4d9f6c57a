import type { VNode } from "preact";
import type { Client } from "../../client/client.js";
import { nameOf, type SeriesName } from "../address.js";
import { typesOf, type ValueType } from "../dimensions.js";
import { Combobox, type Option } from "../search/combobox.js";
import type { Page } from "../view.js";

const OPTIONS = 20;

interface SeriesOption extends SeriesName, Option {}

/** A combobox that finds series by any part of an id or a name. */
export function SeriesPicker({ page }: { readonly page: Page }): VNode {
  return (
    <Combobox<SeriesOption>
      id="series-options"
      label="Add a series by a part of its id or name"
      placeholder="Add a series: a part of its id or name"
      subject="Series"
      find={(text, signal) => findSeries(page.client, text, signal)}
      onChoose={(option) => page.go({ series: [...new Set([...page.address.series, nameOf(option)])] })}
    />
  );
}

/** Series whose id or catalogue name contains the text, grouped by dimension. */
async function findSeries(client: Client, q: string, signal: AbortSignal): Promise<SeriesOption[]> {
  const query = { limit: OPTIONS, q: q || undefined };
  const [series, segments, experiences] = await Promise.all([
    client.page("series", query, { signal }),
    client.page("segment", query, { signal }),
    client.page("experience", query, { signal }),
  ]);
  const names = new Map<string, string>([
    ...segments.data.map(({ id, name }) => [`segment.${id}`, name] as const),
    ...experiences.data.map(({ id, name }) => [`experience.${id}`, name] as const),
  ]);
  const options = new Map<string, SeriesOption>();
  const add = (dimension: string, dimension_id: string, types: readonly string[]) => {
    for (const dimension_type of types) {
      const series = { dimension, dimension_id, dimension_type };
      const text = names.get(`${dimension}.${dimension_id}`) ?? dimension_id;
      const note = `${dimension} ${dimension_id}, ${dimension_type}`;
      options.set(nameOf(series), { ...series, key: nameOf(series), text, note });
    }
  };
  for (const { dimension, dimension_id, dimension_types } of series.data) {
    const isComputed = ({ computedFrom }: ValueType) => computedFrom?.every((type) => dimension_types.includes(type));
    const computed = typesOf(dimension)
      .filter(isComputed)
      .map(({ name }) => name);
    add(dimension, dimension_id, [...computed, ...dimension_types]);
  }
  for (const { id } of segments.data) add("segment", id, ["size"]);
  for (const { id } of experiences.data) add("experience", id, ["conversionrate", "potentialreach", "actualreach"]);
  return [...options.values()].sort((a, b) => (a.dimension < b.dimension ? -1 : a.dimension > b.dimension ? 1 : 0));
}
