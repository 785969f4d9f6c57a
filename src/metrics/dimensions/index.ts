import type { Dimension } from "./dimension.js";
import { experience } from "./experience.js";
import { experienceGroup } from "./experience-group.js";
import { segment } from "./segment.js";
import { stream } from "./stream.js";

/** Every dimension. A new one is a file beside this one and a line here. */
export const dimensions: readonly Dimension[] = [experience, experienceGroup, segment, stream];

const byName = new Map(dimensions.flatMap((d) => [d.name, ...d.aliases].map((name) => [name, d] as const)));

/** The dimension of that name or alias. */
export function dimensionNamed(name: string): Dimension | undefined {
  return byName.get(name);
}

/** Every name and alias, for messages and schemas. */
export const dimensionNames: readonly string[] = [...byName.keys()];
