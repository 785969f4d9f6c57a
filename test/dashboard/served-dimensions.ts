import { setDimensions } from "../../src/dashboard/dimensions.js";
import { shownDimensions } from "../../src/http/pages/page-data.js";
import { type Dimension, dimensions } from "../../src/metrics/dimensions.js";

/** Serves the dimensions of the service, and others, to the code of the page. */
export function serveDimensions(...more: readonly Dimension[]): void {
  setDimensions(JSON.parse(JSON.stringify(shownDimensions([...dimensions, ...more]))));
}
