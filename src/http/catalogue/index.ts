import type { Route } from "../core/route.js";
import { type ExperienceRouteDependencies, experienceRoutes } from "./experiences.js";
import { type MarkRouteDependencies, markRoutes } from "./marks.js";
import { type SegmentRouteDependencies, segmentRoutes } from "./segments.js";

/** Routes of the catalogue: segments, experiences and marks. */
export function catalogueRoutes(
  dependencies: SegmentRouteDependencies & ExperienceRouteDependencies & MarkRouteDependencies,
): readonly Route[] {
  return [...segmentRoutes(dependencies), ...experienceRoutes(dependencies), ...markRoutes(dependencies)];
}
