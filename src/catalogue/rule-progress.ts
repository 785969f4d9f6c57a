import { computingSegments } from "./computing.js";
import type { CatalogueStore, WalkPlace } from "./ports.js";

export interface ProgressDependencies {
  readonly catalogue: Pick<CatalogueStore, "rules">;
  /** Returns the place of the walk in a table. */
  walkPlace(table: string): Promise<WalkPlace>;
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
  walkPlace,
  countProfiles,
}: ProgressDependencies): Promise<ReadonlyMap<string, Progress>> {
  const { segments } = await catalogue.rules();
  const computing = computingSegments(segments);
  const tables = new Map<string, Pick<WalkPlace, "passed"> & { readonly of: number }>();
  const progress = new Map<string, Progress>();
  for (const { id, table } of segments) {
    const rules = computing.get(id);
    if (rules === undefined) continue;
    const { passed, of } = tables.get(table) ?? { ...(await walkPlace(table)), of: await countProfiles(table) };
    tables.set(table, { passed, of });
    const done = Math.min(of, ...rules.map(({ start }) => passed - (start?.passed ?? passed)));
    progress.set(id, { done: Math.max(0, done), of, since: Math.min(...rules.map(({ since }) => since)) });
  }
  return progress;
}
