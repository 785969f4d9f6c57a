/** A mark of a chart. */
export interface ChartMark {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly text: string;
  /** The charts that have it: of an id, or of a dimension; undefined for all charts. */
  readonly of: string | undefined;
}
