import type { Route } from "../core/route.js";
import { type ExperienceParts, experienceRoutes } from "./experiences.js";
import { type SegmentParts, segmentRoutes } from "./segments.js";

/** Routes of the catalogue: segments and experiences. */
export function catalogueRoutes(parts: SegmentParts & ExperienceParts): readonly Route[] {
  return [...segmentRoutes(parts), ...experienceRoutes(parts)];
}
