/** PORT. The ids of the segments that there are. */
export interface SegmentIds {
  /** The first `limit` ids in code unit order. */
  first(limit: number): Promise<string[]>;
}
