/** An experience of the catalogue: who could see it, and who did what it is for. */
export interface Experience {
  readonly id: string;
  readonly name: string;
  readonly group?: string;
  /** Id of the segment that can be reached. */
  readonly audience: string;
  /** Id of the segment of those who converted. */
  readonly goal: string;
}
