/** PORT. What the catalogue knows of segments. */
export interface SegmentNames {
  /** The name of each id; ids that the catalogue does not know are absent. */
  names(ids: readonly string[]): Promise<Map<string, string>>;
}
