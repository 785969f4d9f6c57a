import { HOUR } from "./duration.js";

/** Unit of values: series of one unit share a chart with its title. Values of the unit `rate` are in percent. */
interface UnitTitle {
  readonly name: string;
  readonly title: string;
}

/** A type of the values of a dimension. */
export interface ValueType {
  readonly name: string;
  readonly label: string;
  readonly unit: UnitTitle;
  /** Whether its values are counted in their slot, so that their sum has a meaning. */
  readonly isCounted: boolean;
  /** Numerator and denominator of a computed type. */
  readonly computedFrom?: readonly [string, string] | undefined;
}

/** A dimension of the service. */
export interface Dimension {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Length of a save slot, ms. */
  readonly slotMs: number;
  readonly types: readonly ValueType[];
}

let dimensions: readonly Dimension[] = [];

/** Sets the dimensions that the page was served with. */
export function setDimensions(served: readonly Dimension[]): void {
  dimensions = served;
}

/** Returns the length of a save slot of a dimension, ms. */
export const slotOf = (dimension: string): number => dimensionNamed(dimension)?.slotMs ?? HOUR;

/** Returns the types of a dimension, also computed ones. */
export const typesOf = (dimension: string): readonly ValueType[] => dimensionNamed(dimension)?.types ?? [];

/** Returns a type of a dimension; undefined for unknown names, which an address may have. */
export const typeOf = (dimension: string, type: string): ValueType | undefined =>
  typesOf(dimension).find(({ name }) => name === type);

/** Returns the type whose values have a unit. */
export const typeWithUnit = (unit: string): ValueType | undefined =>
  dimensions.flatMap(({ types }) => types).find((type) => type.unit.name === unit);

const dimensionNamed = (name: string): Dimension | undefined =>
  dimensions.find((one) => one.name === name || one.aliases.includes(name));
