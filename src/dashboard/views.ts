import { loadPlot } from "./chart/plot.js";
import type { View } from "./view.js";

const metric = { scopes: ["metric:read"] };
const listed = { ...metric, hasRange: true };

/** A view with charts. */
const charted = (script: View["script"]): Omit<View, "name" | "label"> => ({
  ...listed,
  canCompare: true,
  script: async () => (await Promise.all([script(), loadPlot()]))[0],
});

/** Every view, in the order of the bar. The script of a view is loaded when it is first opened. */
export const views: readonly View[] = [
  { name: "overview", label: "Overview", ...charted(() => import("./views/overview.js")) },
  { name: "segments", label: "Segments", ...listed, script: () => import("./views/segments.js") },
  { name: "segment", label: "Segment", parent: "segments", ...charted(() => import("./views/segment.js")) },
  { name: "experiences", label: "Experiences", ...listed, script: () => import("./views/experiences.js") },
  { name: "experience", label: "Experience", parent: "experiences", ...charted(() => import("./views/experience.js")) },
  { name: "group", label: "Group", parent: "experiences", ...charted(() => import("./views/group.js")) },
  { name: "streams", label: "Streams", ...listed, script: () => import("./views/streams.js") },
  { name: "stream", label: "Stream", parent: "streams", ...charted(() => import("./views/stream.js")) },
  { name: "people", label: "People", scopes: ["entity:read"], script: () => import("./views/people.js") },
  { name: "explore", label: "Explore", ...charted(() => import("./views/explore.js")) },
  {
    name: "deletions",
    label: "Deletions",
    scopes: ["entity:delete", "admin"],
    script: () => import("./views/deletions.js"),
  },
  { name: "alerts", label: "Alerts", ...metric, script: () => import("./views/alerts.js") },
  { name: "health", label: "Health", ...metric, script: () => import("./views/health.js") },
];
