import type { View } from "./view.js";

const charted = { scopes: ["metric:read"], hasRange: true, canCompare: true };
const metric = ["metric:read"];

/** Every view, in the order of the bar. The script of a view is loaded when it is first opened. */
export const views: readonly View[] = [
  { name: "overview", label: "Overview", ...charted, script: () => import("./views/overview.js") },
  { name: "segments", label: "Segments", scopes: metric, hasRange: true, script: () => import("./views/segments.js") },
  { name: "segment", label: "Segment", parent: "segments", ...charted, script: () => import("./views/segment.js") },
  {
    name: "experiences",
    label: "Experiences",
    scopes: metric,
    hasRange: true,
    script: () => import("./views/experiences.js"),
  },
  {
    name: "experience",
    label: "Experience",
    parent: "experiences",
    ...charted,
    script: () => import("./views/experience.js"),
  },
  { name: "group", label: "Group", parent: "experiences", ...charted, script: () => import("./views/group.js") },
  { name: "streams", label: "Streams", scopes: metric, hasRange: true, script: () => import("./views/streams.js") },
  { name: "stream", label: "Stream", parent: "streams", ...charted, script: () => import("./views/stream.js") },
  { name: "people", label: "People", scopes: ["entity:read"], script: () => import("./views/people.js") },
  { name: "explore", label: "Explore", ...charted, script: () => import("./views/explore.js") },
  {
    name: "deletions",
    label: "Deletions",
    scopes: ["entity:delete", "admin"],
    script: () => import("./views/deletions.js"),
  },
  { name: "alerts", label: "Alerts", scopes: metric, script: () => import("./views/alerts.js") },
  { name: "health", label: "Health", scopes: metric, script: () => import("./views/health.js") },
];
