import { COLLECTIVE_IDS, EVERY_SEGMENT, EVERY_STREAM } from "../reserved-names.js";

export const HOUR = 3_600_000;

/** Function that computes the value of a bucket from its slots. */
export const aggregations = ["sum", "max", "min"] as const;

export type Aggregation = (typeof aggregations)[number];

/** One sampled or counted value of a series: `id` within the dimension, its type, and the value. */
export interface Sample {
  readonly id: string;
  readonly type: string;
  readonly value: number;
}

/** Unit of values: the page draws series of one unit in one chart, with this title. */
export interface Unit {
  readonly name: string;
  readonly title: string;
}

const people: Unit = { name: "people", title: "People" };

/** Values of this unit are shown in percent. */
const rate: Unit = { name: "rate", title: "Conversion rate" };

/** Definition of a dimension. Dimensions differ only in these fields. */
export interface Dimension {
  readonly name: string;
  /** Meaning of its ids, for documents: `id of a segment`. */
  readonly idMeaning: string;
  /** Other names under which it may be requested. */
  readonly aliases: readonly string[];
  /** The save frequency: length of a slot, ms. Slots are aligned to multiples of it since 1970-01-01T00:00Z. */
  readonly slotMs: number;
  /** Stored types, which can be written. */
  readonly storedTypes: readonly string[];
  /** Types computed from stored ones: type → [numerator, denominator]. */
  readonly ratios: Readonly<Record<string, readonly [string, string]>>;
  /**
   * Stored types that are counted during the slot: they are due when it ends, and are summed by default. The others are
   * sampled: they are due when it starts, and their default is the largest value.
   */
  readonly countedTypes: readonly string[];
  /** Label and unit of the values of each type, stored or computed, on the page. */
  readonly shown: Readonly<Record<string, { readonly label: string; readonly unit: Unit }>>;
  /** The id that represents every id of the catalogue in a fetch. */
  readonly everyId?: string;
  /** The id of a series that is computed: in each slot the sum over all series of the dimension and type. */
  readonly sumId?: string;
  /** Ids that cannot be written. */
  readonly reservedIds: readonly string[];
  /** Sampling of its values by the recorder; absent for a dimension of counts. */
  readonly sampling?: Sampling;
}

/** Sampling of a dimension's values. */
export interface Sampling {
  /** Returns the ids that have values now: a cheap read of the catalogue. */
  ids(audiences: AudienceCounts): Promise<string[]>;
  /** Returns the current values of all series of these ids; deleted ids, and uncounted ones, are left out. */
  sample(audiences: AudienceCounts, ids: ReadonlySet<string>): Promise<Sample[]>;
}

/**
 * PORT. Current number of members of segments and audiences. Every list is in id order. Rejects as every store does:
 * see `ToServiceError`.
 */
export interface AudienceCounts {
  /** Ids of the segments of the catalogue. */
  segments(): Promise<string[]>;
  /** Number of members of each of these segments; ones that are computing or not in the catalogue are left out. */
  segmentSizes(ids: ReadonlySet<string>): Promise<{ id: string; members: number }[]>;
  /** The experiences of the catalogue with their groups. */
  experiences(): Promise<{ id: string; group: string | undefined }[]>;
  /**
   * Number of members of the audience, and of audience and goal, of each of these experiences; unknown ones, and ones
   * with a segment that is computing, are left out.
   */
  experienceReach(ids: ReadonlySet<string>): Promise<{ id: string; potential: number; actual: number }[]>;
}

/** Reach and conversion of each experience, every hour. */
export const experience = {
  name: "experience",
  idMeaning: "id of an experience",
  aliases: [],
  slotMs: HOUR,
  storedTypes: ["size", "potentialreach", "actualreach", "converted"],
  ratios: { conversionrate: ["actualreach", "potentialreach"] },
  countedTypes: [],
  shown: {
    size: { label: "size", unit: people },
    potentialreach: { label: "potential reach", unit: people },
    actualreach: { label: "actual reach", unit: people },
    converted: { label: "converted", unit: people },
    conversionrate: { label: "conversion rate", unit: rate },
  },
  reservedIds: [],
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
  idMeaning: "id of a group of experiences",
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
  const reach = await audiences.experienceReach(new Set(groupOf.keys()));
  const counted = new Set(reach.map(({ id }) => id));
  const incomplete = new Set([...groupOf].flatMap(([id, group]) => (counted.has(id) ? [] : group)));
  for (const { id, potential, actual } of reach) {
    const group = groupOf.get(id);
    if (group === undefined || incomplete.has(group)) continue;
    const total = totals.get(group) ?? { potential: 0, actual: 0 };
    totals.set(group, { potential: total.potential + potential, actual: total.actual + actual });
  }
  return [...totals].flatMap(([id, total]): Sample[] => [
    { id, type: "potentialreach", value: total.potential },
    { id, type: "actualreach", value: total.actual },
  ]);
}

const moves: Unit = { name: "moves", title: "People who joined or left" };

/** Members of each segment, and the number of people who joined and left it, every 2 hours. */
export const segment = {
  name: "segment",
  idMeaning: "id of a segment",
  aliases: ["segsize"],
  slotMs: 2 * HOUR,
  storedTypes: ["size", "joined", "left"],
  ratios: {},
  countedTypes: ["joined", "left"],
  shown: {
    size: { label: "size", unit: { name: "members", title: "Members" } },
    joined: { label: "joined", unit: moves },
    left: { label: "left", unit: moves },
  },
  everyId: EVERY_SEGMENT,
  reservedIds: COLLECTIVE_IDS,
  sampling: {
    ids: (audiences) => audiences.segments(),
    sample: async (audiences, ids) =>
      (await audiences.segmentSizes(ids)).map(({ id, members }) => ({ id, type: "size", value: members })),
  },
} as const satisfies Dimension;

/** Messages received by each stream, counted by the hour. */
export const stream = {
  name: "stream",
  idMeaning: "name of a stream",
  aliases: [],
  slotMs: HOUR,
  storedTypes: ["size"],
  ratios: {},
  countedTypes: ["size"],
  shown: { size: { label: "size", unit: { name: "messages", title: "Messages" } } },
  sumId: EVERY_STREAM,
  reservedIds: COLLECTIVE_IDS,
} as const satisfies Dimension;

/** Every dimension. A new one is an object above and its place here. */
const all = [experience, experienceGroup, segment, stream] as const;

export const dimensions: readonly Dimension[] = all;

export const MAX_SLOT_MS = Math.max(...dimensions.map(({ slotMs }) => slotMs));

/** Their literal types: the client allows only the types of each dimension. */
export type KnownDimension = (typeof all)[number];

const byName = new Map(dimensions.flatMap((d) => [d.name, ...d.aliases].map((name) => [name, d] as const)));

/** Returns the dimension of that name or alias. */
export function dimensionNamed(name: string): Dimension | undefined {
  return byName.get(name);
}

/** Returns whether values of the type are counted during a slot: see `countedTypes`. */
export function isCounted({ dimension, type }: { readonly dimension: Dimension; readonly type: string }): boolean {
  return dimension.countedTypes.includes(type);
}

/** Every name and alias, for messages and schemas. */
export const dimensionNames: readonly string[] = [...byName.keys()];
