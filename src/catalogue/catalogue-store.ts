import type { Experience } from "./experience.js";
import type { Segment } from "./segment.js";

/** PORT. Segments and experiences by id; lists are in the order of the ids' UTF-8 bytes. What resolved survives a crash. */
export interface CatalogueStore {
  putSegment(segment: Segment): Promise<void>;
  segment(id: string): Promise<Segment | undefined>;
  segmentsById(ids: readonly string[]): Promise<Map<string, Segment>>;
  /** Up to `limit` segments, of this table alone if one is named, whose id comes after `after` (absent: from the first). */
  segments(after: string | undefined, limit: number, table?: string): Promise<Segment[]>;
  /** Removes the segment unless an experience names it. Its id is among `removed` from then on. */
  deleteSegment(id: string): Promise<"deleted" | "absent" | "in-use">;
  /** Ids of deleted segments that still have memberships, as far as is known; at most `limit`. */
  removed(limit: number): Promise<string[]>;
  /** Notes that nothing is left of a deleted segment. Safe to repeat. */
  forgetRemoved(id: string): Promise<void>;

  /** Keeps the experience unless a segment that it names is not in the catalogue; then says which. */
  putExperience(experience: Experience): Promise<{ missing: readonly ("audience" | "goal")[] }>;
  experience(id: string): Promise<Experience | undefined>;
  experiences(after: string | undefined, limit: number): Promise<Experience[]>;
  deleteExperience(id: string): Promise<boolean>;
}
