/** PORT. How many entities are where, now. */
export interface Census {
  /** Every segment of the catalogue with its number of members, in id order. */
  segmentSizes(): Promise<{ id: string; members: number }[]>;
  /** Every experience: members of its audience, and members of audience and goal. */
  experienceReach(): Promise<{ id: string; group: string | undefined; potential: number; actual: number }[]>;
}
