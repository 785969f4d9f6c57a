import { type FluxParameterLike, flux, fluxDateTime, fluxExpression } from "@influxdata/influxdb-client";
import { type Plane, planes } from "../../metrics/series-store.js";
import { fieldOf } from "./line-text.js";
import type { SlotQuery } from "./slot-queries.js";

/**
 * The Flux script that answers a query with rows of `_time`, `_value`, `_field`, `dimension_id` and `dimension_type`, a table for each plane
 * of each series that holds something: of one plane, or of both.
 */
export function fluxScript(bucket: string, { dimension, from, to, series }: SlotQuery, plane?: Plane): string {
  const fields = (plane === undefined ? planes : [plane]).map((one) => fieldOf[one]);
  const typesOf = new Map<string, Set<string>>();
  for (const { id, type } of series) {
    const types = typesOf.get(id);
    if (types === undefined) typesOf.set(id, new Set([type]));
    else types.add(type);
  }
  const idsOf = new Map<string, { types: readonly string[]; ids: string[] }>();
  for (const [id, set] of typesOf) {
    const types = [...set].sort();
    const group = idsOf.get(types.join());
    if (group === undefined) idsOf.set(types.join(), { types, ids: [id] });
    else group.ids.push(id);
  }
  const wanted = [...idsOf.values()].map(
    ({ types, ids }) => `(${oneOf("dimension_type", types)}) and (${oneOf("dimension_id", ids)})`,
  );
  return flux`from(bucket: ${fluxText(bucket)})
  |> range(start: ${fluxDateTime(new Date(from).toISOString())}, stop: ${fluxDateTime(new Date(to).toISOString())})
  |> filter(fn: (r) => r._measurement == ${fluxText(dimension.name)} and (${fluxExpression(oneOf("_field", fields))}))
  |> filter(fn: (r) => ${fluxExpression(anyOf(wanted.map((clause) => `(${clause})`)))})
  |> keep(columns: ["_time", "_value", "_field", "dimension_id", "dimension_type"])`.toString();
}

/**
 * Comparisons, which the storage engine itself understands; for `contains()` it would hand out every series. A chain of many
 * is refused as nested too deep, so they are put together by halves.
 */
function oneOf(tag: "_field" | "dimension_id" | "dimension_type", values: readonly string[]): string {
  return anyOf(values.map((value) => `r.${tag} == ${flux`${fluxText(value)}`}`));
}

function anyOf(clauses: readonly string[]): string {
  if (clauses.length <= 4) return clauses.join(" or ");
  const middle = clauses.length >> 1;
  return `(${anyOf(clauses.slice(0, middle))}) or (${anyOf(clauses.slice(middle))})`;
}

/** A text literal. A dollar sign goes by its number, since what `fluxString` makes of `$${` is no literal. */
function fluxText(text: string): FluxParameterLike {
  return fluxExpression(`"${text.replace(/["\\]/g, "\\$&").replaceAll("$", "\\x24")}"`);
}
