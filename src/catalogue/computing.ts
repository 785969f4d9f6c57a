import type { Computing, RuledSegment } from "./ports.js";

/**
 * Returns the progress of each segment that is computing: of its own rule, and of the rules of the segments that it
 * names, directly or through others.
 */
export function computingSegments(segments: readonly RuledSegment[]): ReadonlyMap<string, readonly Computing[]> {
  const byId = new Map(segments.map((segment) => [segment.id, segment]));
  const found = new Map<string, Set<Computing>>();

  function progressOf(id: string): ReadonlySet<Computing> {
    const known = found.get(id);
    const segment = byId.get(id);
    if (known !== undefined || segment === undefined) return known ?? new Set();
    const all = new Set<Computing>(segment.byRule.computing === undefined ? [] : [segment.byRule.computing]);
    found.set(id, all);
    for (const named of segment.byRule.names) for (const one of progressOf(named)) all.add(one);
    return all;
  }

  return new Map([...byId.keys()].map((id) => [id, [...progressOf(id)]] as const).filter(([, all]) => all.length > 0));
}
