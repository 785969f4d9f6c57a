/** PORT. What the catalogue knows of segments. */
export interface SegmentNames {
  /** Registers ids that the catalogue does not know, with their id as name. Safe to repeat. */
  register(ids: readonly string[], table: string): Promise<void>;
  /** The name of each id; ids that the catalogue does not know are absent. */
  names(ids: readonly string[]): Promise<Map<string, string>>;
}
