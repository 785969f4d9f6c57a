import { flux, fluxDateTime, fluxExpression, fluxString } from "@influxdata/influxdb-client";
import type { SlotQuery } from "./slot-queries.js";

/** The Flux script that answers a query with rows of `_time`, `_value`, `dimension_id` and `dimension_type`, a table for each series. */
export function fluxScript(bucket: string, { dimension, from, to, series }: SlotQuery): string {
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
  return flux`from(bucket: ${fluxString(bucket)})
  |> range(start: ${fluxDateTime(new Date(from).toISOString())}, stop: ${fluxDateTime(new Date(to).toISOString())})
  |> filter(fn: (r) => r._measurement == ${fluxString(dimension.name)} and r._field == "value")
  |> filter(fn: (r) => ${fluxExpression(wanted.map((clause) => `(${clause})`).join(" or "))})
  |> keep(columns: ["_time", "_value", "dimension_id", "dimension_type"])`.toString();
}

/** A chain of comparisons, which the storage engine itself understands; `contains()` would read every series first. */
function oneOf(tag: "dimension_id" | "dimension_type", values: readonly string[]): string {
  return values.map((value) => `r.${tag} == ${flux`${fluxString(value)}`}`).join(" or ");
}
