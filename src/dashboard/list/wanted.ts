import type { Experience, Segment, Stream } from "../../client/client.js";
import { nameOf } from "../address.js";
import type { Fetched, Series, WantedSeries } from "../fetch-series.js";

/** The series of a segment's size. */
export const sizeOf = ({ id, name }: Pick<Segment, "id" | "name">): WantedSeries => ({
  dimension: "segment",
  dimension_id: id,
  dimension_type: "size",
  label: name,
});

/** The series of a stream's messages. */
export const messageSeries = (stream: Stream["stream"]): WantedSeries => ({
  dimension: "stream",
  dimension_id: stream,
  dimension_type: "size",
  label: stream,
  aggregation: "sum",
});

/** The series of an experience's conversion rate, or of another of its types. */
export const rateOf = (
  { id, name }: Pick<Experience, "id" | "name">,
  dimension_type = "conversionrate",
): WantedSeries => ({ dimension: "experience", dimension_id: id, dimension_type, label: name });

/** The fetched series of a wanted one. */
export const seriesOf = ({ series }: Fetched, wanted: WantedSeries): Series | undefined =>
  series.find(({ name }) => name === nameOf(wanted));
