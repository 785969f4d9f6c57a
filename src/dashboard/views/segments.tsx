import { listView } from "../list/list-view.js";
import { valueIn } from "../list/value.js";
import { sizeOf } from "../list/wanted.js";
import { FirstSteps } from "../page/first-steps.js";
import { NewSegment } from "../rules/new-segment.js";
import { segmentsWithPoints } from "./segments-with-points.js";

/** Listed segments that only have points. */
const POINTS = 20;

/** All segments. */
export const { load, Show } = listView({
  list: "segment",
  title: "Segments",
  head: "Segment",
  unit: "members",
  Empty: FirstSteps,
  Actions: NewSegment,
  usual: "-size",
  columns: () => [
    {
      head: "Members now",
      sort: "size",
      isNumber: true,
      phone: "first",
      cell: ({ size }) => valueIn(size, "members"),
    },
  ],
  trend: sizeOf,
  points: (page) => segmentsWithPoints(page, POINTS, page.address.q),
});
