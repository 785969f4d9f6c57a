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
