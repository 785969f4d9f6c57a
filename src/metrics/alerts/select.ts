import { weightedBatches } from "../../async/weighted-batches.js";
import type { Dimension } from "../dimensions.js";
import { listedPages } from "../listings.js";
import type { SeriesStore } from "../ports.js";
import { type AlertRule, hasType, matches, windowSlots } from "./rule.js";

/** A series with the rules of its type that it matches. */
export interface Selected {
  readonly id: string;
  readonly type: string;
  readonly rules: readonly AlertRule[];
  /** Slots of the longest window of these rules. */
  readonly slots: number;
}

/** Series yielded at once: even their longest windows have at most 300,000 slots. */
const PAGE = 200;

/** Yields the series that rules of a dimension select: first the named ones, then by id. */
export async function* selectedSeries(
  all: readonly AlertRule[],
  dimension: Dimension,
  series: Pick<SeriesStore, "list">,
): AsyncGenerator<readonly Selected[]> {
  const rules = all.filter((rule) => rule.dimension === dimension);
  const named = rules.flatMap((rule) => (rule.id === undefined ? [] : selectedAs(rule.id, rule.type, [rule])));
  const patterns = rules.filter(({ id }) => id === undefined);
  yield* weightedBatches(named, PAGE);
  if (patterns.length === 0) return;
  for await (const listed of listedPages(series, dimension, { prefix: "", limit: PAGE }))
    yield listed.flatMap(({ id, types }) => selectedBy(patterns, id, types));
}

/** Returns the series of an id that these rules select, by type. */
function selectedBy(rules: readonly AlertRule[], id: string, types: readonly string[]): readonly Selected[] {
  const found = rules.filter((rule) => matches(rule.pattern, id) && hasType(rule, types));
  const foundTypes = [...new Set(found.map(({ type }) => type))];
  return foundTypes.map((type) =>
    selectedAs(
      id,
      type,
      found.filter((rule) => rule.type === type),
    ),
  );
}

function selectedAs(id: string, type: string, rules: readonly AlertRule[]): Selected {
  return { id, type, rules, slots: rules.reduce((most, rule) => Math.max(most, windowSlots(rule)), 0) };
}
