/** PORT. How many entities are where, now. Every list is in id order. */
export interface AudienceCounts {
  /** Ids of the segments of the catalogue. */
  segments(): Promise<string[]>;
  /** Number of members of each of these segments; those that are not in the catalogue are left out. */
  segmentSizes(ids: ReadonlySet<string>): Promise<{ id: string; members: number }[]>;
  /** The experiences of the catalogue with their groups. */
  experiences(): Promise<{ id: string; group: string | undefined }[]>;
  /** Of each of these experiences, the members of its audience, and those of audience and goal; unknown ones are left out. */
  experienceReach(ids: ReadonlySet<string>): Promise<{ id: string; potential: number; actual: number }[]>;
}
