import type { Table, Tables } from "../../entities/profile/entity-tables.js";
import type { Dimension } from "../../metrics/dimensions.js";

/** Returns the identity fields by table: the choices of the forms of the dashboard. */
export function fieldsByTable(tables: Tables): Record<string, string[]> {
  const fieldsOf = ({ identities }: Table) => identities.map((field) => field.name);
  return Object.fromEntries([...tables].map(([name, table]) => [name, fieldsOf(table)]));
}

/** Returns the dimensions as the dashboard reads them: see its `dimensions.ts`. */
export function shownDimensions(dimensions: readonly Dimension[]) {
  return dimensions.map(({ name, aliases, slotMs, shown, countedTypes, ratios }) => ({
    name,
    aliases,
    slotMs,
    types: Object.entries(shown).map(([type, { label, unit }]) => ({
      name: type,
      label,
      unit,
      isCounted: countedTypes.includes(type),
      computedFrom: ratios[type],
    })),
  }));
}
