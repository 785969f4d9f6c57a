import type { Db } from "mongodb";
import { type ClaimState, compositeId, type PartTarget, type SlotClaimRecord } from "../copy.js";
import { importPart } from "./import-part.js";
import { type ClaimDocument, claimIdOf } from "./slot-claim-documents.js";

type Flags = Pick<ClaimDocument, "confirmed" | "given" | "open">;

const flagsOf: Readonly<Record<ClaimState, Flags>> = {
  "not confirmed": { confirmed: false, given: false, open: true },
  claimed: { confirmed: true, given: false, open: true },
  settled: { confirmed: true, given: false, open: false },
  "given away": { confirmed: true, given: true, open: false },
  "given away, not settled": { confirmed: true, given: true, open: true },
};

/** Slots that the recorder claimed. */
export function claimParts(db: Db): { readonly "slot claims": PartTarget<SlotClaimRecord> } {
  return {
    "slot claims": importPart<ClaimDocument, SlotClaimRecord>({
      collection: db.collection<ClaimDocument>("slot_claims"),
      documentOf: ({ dimension, dimensionId, type, slot, value, state }) => ({
        _id: claimIdOf(dimension, type, slot, dimensionId),
        dimension,
        type,
        id: dimensionId,
        slot,
        value,
        ...flagsOf[state],
        mark: "copied",
      }),
      recordOf: ({ dimension, id: dimensionId, type, slot, value, ...flags }) => ({
        id: compositeId(dimension, dimensionId, type, slot),
        dimension,
        dimensionId,
        type,
        slot,
        value,
        state: stateOf(flags),
      }),
      keyOf: (id) => {
        const [dimension, dimensionId, type, slot] = JSON.parse(id) as [string, string, string, number];
        return claimIdOf(dimension, type, slot, dimensionId);
      },
    }),
  };
}

function stateOf({ confirmed, given, open }: Flags): ClaimState {
  if (given) return open ? "given away, not settled" : "given away";
  if (!confirmed) return "not confirmed";
  return open ? "claimed" : "settled";
}
