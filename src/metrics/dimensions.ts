import { COLLECTIVE_IDS, EVERY_SEGMENT, EVERY_STREAM } from "../reserved-names.js";

export const HOUR = 3_600_000;

/** How slots become the value of a bucket. */
export const aggregations = ["sum", "max", "min"] as const;

export type Aggregation = (typeof aggregations)[number];

/** One sampled or counted value of a series: `id` within the dimension, its type, and the value. */
export interface Sample {
  readonly id: string;
  readonly type: string;
  readonly value: number;
}

/** What one dimension is. All that differs between dimensions is a field here. */
export interface Dimension {
  readonly name: string;
  /** Other names under which it may be asked for. */
  readonly aliases: readonly string[];
  /** The save frequency: length of a slot, ms. Slots lie on multiples of it since 1970-01-01T00:00Z. */
  readonly slotMs: number;
  /** Types that are stored, and so can be written. */
  readonly storedTypes: readonly string[];
  /** Types that are computed from stored ones: type → [numerator, denominator]. */
  readonly ratios: Readonly<Record<string, readonly [string, string]>>;
  readonly defaultAggregation: Aggregation;
  /** The id that stands, when series are fetched, for every id of the catalogue. */
  readonly everyId?: string;
  /** The id of a series that is not stored: in each slot the sum over all series of the dimension and type. */
  readonly sumId?: string;
  /** Ids that cannot be written. */
  readonly reservedIds: readonly string[];
  /** When the slot's value is due: a count when the slot ends, a sampled size when it starts. */
  readonly due: "start" | "end";
  /** How the recorder takes its values; absent for a dimension whose values are counts. */
  readonly sampling?: Sampling;
}

/** How the values of a dimension are taken. */
export interface Sampling {
  /** Ids that have values now: a cheap read of the catalogue. */
  ids(audiences: AudienceCounts): Promise<string[]>;
  /** Values of all series of these ids now; ids that are gone are left out. */
  sample(audiences: AudienceCounts, ids: ReadonlySet<string>): Promise<Sample[]>;
}

/** PORT. How many members segments and audiences have now. Every list is in id order. Rejects as every store does: see `ServiceErrorOf`. */
export interface AudienceCounts {
  /** Ids of the segments of the catalogue. */
  segments(): Promise<string[]>;
  /** Number of members of each of these segments; ids that are not in the catalogue are left out. */
  segmentSizes(ids: ReadonlySet<string>): Promise<{ id: string; members: number }[]>;
  /** The experiences of the catalogue with their groups. */
  experiences(): Promise<{ id: string; group: string | undefined }[]>;
  /** Of each of these experiences, how many are members of its audience, and of audience and goal; unknown ones are left out. */
  experienceReach(ids: ReadonlySet<string>): Promise<{ id: string; potential: number; actual: number }[]>;
}

/** Reach and conversion of each experience, every hour. */
export const experience = {
  name: "experience",
  aliases: [],
  slotMs: HOUR,
  storedTypes: ["size", "potentialreach", "actualreach", "converted"],
  ratios: { conversionrate: ["actualreach", "potentialreach"] },
  defaultAggregation: "max",
  reservedIds: [],
  due: "start",
  sampling: {
    ids: async (audiences) => (await audiences.experiences()).map(({ id }) => id),
    sample: async (audiences, ids) =>
      (await audiences.experienceReach(ids)).flatMap(({ id, potential, actual }) => [
        { id, type: "potentialreach", value: potential },
        { id, type: "actualreach", value: actual },
      ]),
  },
} as const satisfies Dimension;

/** Reach and conversion of each experience group, every hour: the sums over its experiences. */
const experienceGroup = {
  ...experience,
  name: "experiencegroup",
  sampling: {
    ids: async (audiences) => [...new Set((await audiences.experiences()).flatMap(({ group }) => group ?? []))],
    sample: sampleGroups,
  },
} as const satisfies Dimension;

async function sampleGroups(audiences: AudienceCounts, groups: ReadonlySet<string>): Promise<Sample[]> {
  const groupOf = new Map<string, string>();
  for (const { id, group } of await audiences.experiences()) {
    if (group !== undefined && groups.has(group)) groupOf.set(id, group);
  }
  const totals = new Map<string, { potential: number; actual: number }>();
  for (const { id, potential, actual } of await audiences.experienceReach(new Set(groupOf.keys()))) {
    const group = groupOf.get(id);
    if (group === undefined) continue;
    const total = totals.get(group) ?? { potential: 0, actual: 0 };
    totals.set(group, { potential: total.potential + potential, actual: total.actual + actual });
  }
  return [...totals].flatMap(([id, total]): Sample[] => [
    { id, type: "potentialreach", value: total.potential },
    { id, type: "actualreach", value: total.actual },
  ]);
}

/** Members of each segment, every 2 hours. */
export const segment = {
  name: "segment",
  aliases: ["segsize"],
  slotMs: 2 * HOUR,
  storedTypes: ["size"],
  ratios: {},
  defaultAggregation: "max",
  everyId: EVERY_SEGMENT,
  reservedIds: COLLECTIVE_IDS,
  due: "start",
  sampling: {
    ids: (audiences) => audiences.segments(),
    sample: async (audiences, ids) =>
      (await audiences.segmentSizes(ids)).map(({ id, members }) => ({ id, type: "size", value: members })),
  },
} as const satisfies Dimension;

/** What the name of a stream must be. */
export const streamNamePattern = `^(?!(?:${COLLECTIVE_IDS.join("|")})$)[A-Za-z0-9_.-]{1,128}$`;

/** The same as text. */
export const streamNameRule = `A stream name is 1 to 128 of letters, digits, _ . -, and not ${COLLECTIVE_IDS.join(" or ")}`;

/** Messages received by each stream, counted by the hour. */
export const stream = {
  name: "stream",
  aliases: [],
  slotMs: HOUR,
  storedTypes: ["size"],
  ratios: {},
  defaultAggregation: "sum",
  sumId: EVERY_STREAM,
  reservedIds: COLLECTIVE_IDS,
  due: "end",
} as const satisfies Dimension;

/** Every dimension. A new one is an object above and its place here. */
const all = [experience, experienceGroup, segment, stream] as const;

export const dimensions: readonly Dimension[] = all;

/** Their literal types: the client allows only the types that a dimension has. */
export type KnownDimension = (typeof all)[number];

const byName = new Map(dimensions.flatMap((d) => [d.name, ...d.aliases].map((name) => [name, d] as const)));

/** The dimension of that name or alias. */
export function dimensionNamed(name: string): Dimension | undefined {
  return byName.get(name);
}

/** Every name and alias, for messages and schemas. */
export const dimensionNames: readonly string[] = [...byName.keys()];
