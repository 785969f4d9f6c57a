import type { Route } from "../core/route.js";
import { type ExperienceRouteDependencies, experienceRoutes } from "./experiences.js";
import { type SegmentRouteDependencies, segmentRoutes } from "./segments.js";

/** Routes of the catalogue: segments and experiences. */
export function catalogueRoutes(
  dependencies: SegmentRouteDependencies & ExperienceRouteDependencies,
): readonly Route[] {
  return [...segmentRoutes(dependencies), ...experienceRoutes(dependencies)];
}
