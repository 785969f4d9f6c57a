import { nameOf } from "../address.js";
import type { Fetched, Series, WantedSeries } from "../fetch-series.js";
import type { Entry } from "./entries.js";

/** The series of a segment's size. */
export const sizeOf = ({ id, name }: Entry): WantedSeries => ({
  dimension: "segment",
  dimension_id: id,
  dimension_type: "size",
  label: name,
});

/** The series of a stream's messages. */
export const messageSeries = (stream: string): WantedSeries => ({
  dimension: "stream",
  dimension_id: stream,
  dimension_type: "size",
  label: stream,
  aggregation: "sum",
});

/** A series of an experience. */
export const experienceSeries = ({ id, name }: Entry, dimension_type: string): WantedSeries => ({
  dimension: "experience",
  dimension_id: id,
  dimension_type,
  label: name,
});

/** The series of an experience's conversion rate. */
export const rateOf = (entry: Entry): WantedSeries => experienceSeries(entry, "conversionrate");

/** The fetched series of a wanted one. */
export const seriesOf = ({ series }: Fetched, wanted: WantedSeries): Series | undefined =>
  series.find(({ name }) => name === nameOf(wanted));
