import type { Collection, Db } from "mongodb";
import type { Experience } from "../../catalogue/experience.js";
import type { Segment } from "../../catalogue/segment.js";
import type { CollectionPlan } from "./collection.js";

/** A segment, a deleted one that may have memberships left, or one that was put again before these were gone. */
export interface SegmentDocument {
  readonly _id: string;
  /** Whether it is in the catalogue; then it has a name and a table. */
  readonly live: boolean;
  readonly name?: string;
  readonly table?: string;
  /** It was deleted, and memberships of before may be left. */
  readonly removed?: true;
  /** Token of a deletion that looks for experiences which name it. Whoever takes it away makes that deletion begin again. */
  readonly going?: string;
}

export interface ExperienceDocument {
  readonly _id: string;
  /** Whether it is in the catalogue: its fields are those of `Experience`. Otherwise there is `next` alone. */
  readonly live: boolean;
  readonly name?: string;
  readonly group?: string;
  readonly audience?: string;
  readonly goal?: string;
  /** A put under way. Whoever takes it away makes that put begin again. */
  readonly next?: { readonly token: string };
  /** The segments that it names, and those that puts under way would have it name. */
  readonly names: readonly string[];
}

export const catalogueCollections: readonly CollectionPlan[] = [
  { name: "segments", indexes: [{ key: { removed: 1 } }] },
  { name: "experiences", indexes: [{ key: { names: 1 } }] },
];

export interface CatalogueDocuments {
  readonly segments: Collection<SegmentDocument>;
  readonly experiences: Collection<ExperienceDocument>;
}

export function catalogueDocuments(db: Db): CatalogueDocuments {
  return { segments: db.collection("segments"), experiences: db.collection("experiences") };
}

export function segmentOf({ _id: id, name = id, table = "" }: SegmentDocument): Segment {
  return { id, name, table };
}

export function experienceOf(document: ExperienceDocument): Experience {
  const { _id: id, name = id, group, audience = "", goal = "" } = document;
  return { id, name, ...(group === undefined ? {} : { group }), audience, goal };
}

/** An experience with no put under way. */
export function experienceDocument({ id, ...experience }: Experience): ExperienceDocument {
  return { _id: id, live: true, ...experience, names: namesOf(experience) };
}

export function namesOf({ audience, goal }: Pick<Experience, "audience" | "goal">): string[] {
  return [...new Set([audience, goal])];
}
