/** A segment of the catalogue. */
export interface Segment {
  readonly id: string;
  readonly name: string;
  /** The table whose entities are its members. */
  readonly table: string;
}
