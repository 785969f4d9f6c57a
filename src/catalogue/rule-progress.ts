import { computingSegments } from "./computing.js";
import type { CatalogueStore, WalkPlace } from "./ports.js";

export interface ProgressDependencies {
  readonly catalogue: Pick<CatalogueStore, "rules">;
  /** Returns the place of the walk in each table; tables without a walk are absent. */
  walkPlaces(): Promise<Readonly<Record<string, WalkPlace>>>;
  /** Counts the stored profiles of a table. */
  countProfiles(table: string): Promise<number>;
}

/** Progress of a segment that is computing. */
export interface Progress {
  /** Profiles that have been decided, and profiles of the table. */
  readonly done: number;
  readonly of: number;
  /** When the first of the rules changed that its members depend on, Unix ms. */
  readonly since: number;
}

/** Returns the progress of each segment that is computing. */
export async function ruleProgress({
  catalogue,
  walkPlaces,
  countProfiles,
}: ProgressDependencies): Promise<ReadonlyMap<string, Progress>> {
  const { segments } = await catalogue.rules();
  const computing = computingSegments(segments);
  if (computing.size === 0) return new Map();
  const places = await walkPlaces();
  const counts = new Map<string, number>();
  const progress = new Map<string, Progress>();
  for (const { id, table } of segments) {
    const rules = computing.get(id);
    if (rules === undefined) continue;
    const of = counts.get(table) ?? (await countProfiles(table));
    counts.set(table, of);
    const passed = places[table]?.passed ?? 0;
    const done = Math.min(of, ...rules.map(({ start }) => passed - (start?.passed ?? passed)));
    progress.set(id, { done: Math.max(0, done), of, since: Math.min(...rules.map(({ since }) => since)) });
  }
  return progress;
}
