import type { Series } from "../../metrics/series.js";
import type { SeriesSlot } from "../../metrics/slot-claims.js";
import type { CollectionPlan } from "./collection.js";

/** A slot that the recorder claimed. */
export interface ClaimDocument {
  /** Dimension, type, slot and id. */
  readonly _id: string;
  readonly dimension: string;
  readonly type: string;
  readonly id: string;
  /** Start of the slot, Unix ms. */
  readonly slot: number;
  /** That of the recorder; once given away, of whoever wrote the slot through points. */
  readonly value: number;
  /** Whether the value may be written. */
  readonly confirmed: boolean;
  /** Whether the slot belongs to whoever wrote it through points. */
  readonly given: boolean;
  /** Whether the value is to be written (again): not settled. */
  readonly open: boolean;
  /** Token of the call that set the value. */
  readonly mark: string;
}

export const slotClaimsCollections: readonly CollectionPlan[] = [
  {
    name: "slot_claims",
    indexes: [
      { key: { open: 1, slot: 1 } },
      { key: { dimension: 1, type: 1, id: 1, slot: 1 } },
      { key: { dimension: 1, slot: 1 } },
    ],
  },
  { name: "leases", indexes: [] },
];

export function claimId({ series: { dimension, type, id }, slot }: SeriesSlot): string {
  return claimIdOf(dimension.name, type, slot, id);
}

export function claimIdOf(dimension: string, type: string, slot: number, id: string): string {
  return `${dimension}/${type}/${slot}/${id}`;
}

/** The names of a series, as a document keeps them. */
export function namesOf({ dimension, type, id }: Series): Pick<ClaimDocument, "dimension" | "type" | "id"> {
  return { dimension: dimension.name, type, id };
}
