import type { CatalogueStore, RuledSegment, SegmentRules } from "../catalogue/ports.js";
import { decidedSegment } from "./decided-segment.js";
import { RuleSet } from "./rule-set.js";

const noRules = new RuleSet([]);

/** The rules of all tables in one generation. */
export class Rules {
  readonly generation: number;
  /** Segments by rule, by id. */
  readonly segments: ReadonlyMap<string, RuledSegment>;
  readonly #byTable = new Map<string, RuleSet>();

  constructor({ generation, segments }: SegmentRules) {
    this.generation = generation;
    this.segments = new Map(segments.map((segment) => [segment.id, segment]));
    for (const table of new Set(segments.map((segment) => segment.table))) {
      const rules = segments.filter((segment) => segment.table === table);
      this.#byTable.set(table, new RuleSet(rules.map(decidedSegment)));
    }
  }

  of(table: string): RuleSet {
    return this.#byTable.get(table) ?? noRules;
  }
}

/**
 * Returns the rules of this generation, or of a newer one: a commit that is planned with the latter conflicts. They are
 * read and compiled once for each generation.
 */
export type CurrentRules = (generation: number) => Promise<Rules>;

export function currentRules(catalogue: Pick<CatalogueStore, "rules">): CurrentRules {
  let newest: Rules | undefined;
  return async (generation) => {
    if (newest?.generation !== generation) newest = new Rules(await catalogue.rules());
    return newest;
  };
}
