import type { CatalogueStore } from "../catalogue/ports.js";
import { type DecidedSegment, decidedSegment } from "./decided-segment.js";
import { RuleSet } from "./rule-set.js";

const noRules = new RuleSet([]);

/** The rules of all tables in one generation. */
export class Rules {
  readonly generation: number;
  /** Ids of the segments by rule. */
  readonly segments: ReadonlySet<string>;
  readonly #byTable = new Map<string, RuleSet>();

  constructor(generation: number, segments: readonly DecidedSegment[]) {
    this.generation = generation;
    this.segments = new Set(segments.map(({ id }) => id));
    for (const table of new Set(segments.map((segment) => segment.table))) {
      this.#byTable.set(table, new RuleSet(segments.filter((segment) => segment.table === table)));
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
    if (newest?.generation === generation) return newest;
    const rules = await catalogue.rules();
    newest = new Rules(rules.generation, rules.segments.map(decidedSegment));
    return newest;
  };
}
