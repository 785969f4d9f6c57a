import { nameOf, type SeriesName } from "../address.js";
import { typeOf } from "../dimensions.js";
import type { WantedSeries } from "../fetch-series.js";
import type { Page } from "../view.js";

/**
 * Labels series with the names of the catalogue, one request for each segment and experience. A series that the
 * catalogue does not have, or whose name cannot be read, keeps its own name.
 */
export async function labelled(series: readonly SeriesName[], { client, signal }: Page): Promise<WantedSeries[]> {
  const names = new Map<string, Promise<string | undefined>>();
  const named = ({ dimension, dimension_id: id }: SeriesName) => {
    const key = `${dimension}.${id}`;
    const read = () => {
      // Only segments and experiences have a name besides their id.
      if (dimension !== "segment" && dimension !== "experience") return Promise.resolve(id);
      return client.page(dimension, { id }, { signal }).then(
        ({ data }) => data[0]?.name,
        () => undefined,
      );
    };
    const name = names.get(key) ?? read();
    names.set(key, name);
    return name;
  };
  return Promise.all(
    series.map(async (one) => {
      const name = await named(one);
      const type = one.dimension_type;
      const label =
        name === undefined
          ? nameOf(one)
          : type === "size"
            ? name
            : `${name}, ${typeOf(one.dimension, type)?.label ?? type}`;
      return { ...one, label };
    }),
  );
}
