/** PORT. What the catalogue asks of memberships. */
export interface SegmentMembers {
  /** Number of members of each of these segments, in the order asked. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** Entities that are members of both. */
  overlap(a: string, b: string): Promise<number>;
}
