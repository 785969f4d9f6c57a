import type { Reservation } from "../../memory-budget.js";
import type { Json } from "../profile/entity-document.js";
import type { Table } from "../profile/entity-tables.js";
import type { SampleProfiles } from "./sample-profiles.js";

export const attributeTypes = ["string", "number", "boolean", "list", "object"] as const;

export type AttributeType = (typeof attributeTypes)[number];

/** An attribute of the profiles of a table, without its values. */
export interface AttributeSummary {
  readonly name: string;
  readonly types: readonly AttributeType[];
  /** Share of the profiles that have it: above 0, at most 1. */
  readonly share: number;
}

/** Maximum names that are returned, and that are counted. */
const MAX_NAMES = 1_000;
const MAX_COUNTED_NAMES = 100_000;

/** Returns the attributes that a sample of the table has, the most frequent first; no identity fields. */
export async function listAttributes(
  sample: SampleProfiles,
  { name: table, identities }: Table,
  memory: Reservation,
): Promise<AttributeSummary[]> {
  const fields = new Set(identities.map(({ name }) => name));
  const counted = new Map<string, { count: number; readonly types: Set<AttributeType> }>();
  const { sampled } = await sample(table, memory, ({ decoded }) => {
    for (const [name, { value }] of decoded.document.attributes) {
      if (value === undefined || value === null || fields.has(name)) continue;
      const known = counted.get(name);
      const found = known ?? { count: 0, types: new Set() };
      if (known === undefined && counted.size < MAX_COUNTED_NAMES) counted.set(name, found);
      found.count += 1;
      found.types.add(typeOf(value));
    }
  });
  return [...counted]
    .sort(([a, { count: countOfA }], [b, { count: countOfB }]) => countOfB - countOfA || (a < b ? -1 : 1))
    .slice(0, MAX_NAMES)
    .map(([name, { count, types }]) => ({
      name,
      types: attributeTypes.filter((type) => types.has(type)),
      share: count / sampled,
    }));
}

function typeOf(value: NonNullable<Json>): AttributeType {
  if (Array.isArray(value)) return "list";
  return typeof value as Exclude<AttributeType, "list">;
}
