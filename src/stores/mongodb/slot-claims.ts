import { randomBytes } from "node:crypto";
import type { Collection, Db } from "mongodb";
import type { Dimension } from "../../metrics/dimensions/dimension.js";
import type { SeriesSlot, SlotClaim, SlotClaims, SlotSample } from "../../metrics/slot-claims.js";
import { duplicatesOf } from "./failure.js";
import {
  type ClaimDocument,
  claimId,
  giveAway,
  type LeaseDocument,
  mongoLease,
  namesOf,
} from "./slot-claim-documents.js";

/** Claims, one document each; every change of one is a single update that depends on what it was. */
export function mongoSlotClaims(db: Db): SlotClaims {
  const claims = db.collection<ClaimDocument>("slot_claims");

  return {
    lease: mongoLease(db.collection<LeaseDocument>("leases")),

    async claim(samples, options) {
      if (samples.length === 0) return [];
      const { fresh, met } = await insert(claims, samples);
      const claimed = new Map<string, SlotClaim>(
        fresh.map((sample) => [claimId(sample), { ...sample, confirmed: false }] as const),
      );
      if (met.length > 0) {
        if (options?.grows === true) await raise(claims, met);
        for (const [id, sample] of await read(claims, met)) {
          const { document, series, slot } = sample;
          const { given, open, confirmed, value } = document;
          if (open && !given) claimed.set(id, { series, slot, value, confirmed });
        }
      }
      return samples.flatMap((sample) => claimed.get(claimId(sample)) ?? []);
    },

    async claimed(slots) {
      return (await readInOrder(claims, slots)).flatMap(({ document, ...slot }) =>
        document.given ? [] : { ...slot, value: document.value },
      );
    },

    async confirm(slots) {
      if (slots.length === 0) return [];
      const unconfirmed = { _id: { $in: slots.map(claimId) }, given: false, confirmed: false };
      await claims.updateMany(unconfirmed, { $set: { confirmed: true } });
      return (await readInOrder(claims, slots)).flatMap(({ document, ...slot }) => {
        const { given, confirmed, open, value } = document;
        return confirmed && open && !given ? { ...slot, value } : [];
      });
    },

    async withdraw(slots) {
      if (slots.length === 0) return;
      await claims.deleteMany({ _id: { $in: slots.map(claimId) }, given: false, confirmed: false });
    },

    async settle(samples) {
      const kept = await read(claims, samples);
      const written = new Map<string, string[]>();
      const covered: SlotSample[] = [];
      for (const { series, slot, value } of samples) {
        const document = kept.get(claimId({ series, slot }))?.document;
        if (document?.confirmed !== true) continue;
        if (document.value !== value) covered.push({ series, slot, value: document.value });
        else if (document.open) written.set(document.mark, [...(written.get(document.mark) ?? []), document._id]);
      }
      // One whose value is set meanwhile has another mark, and stays open.
      const settled = Array.from(written, ([mark, ids]) => ({
        updateMany: { filter: { _id: { $in: ids }, mark }, update: { $set: { open: false } } },
      }));
      if (settled.length > 0) await claims.bulkWrite(settled, { ordered: false });
      if (covered.length > 0) {
        await claims.updateMany({ _id: { $in: covered.map(claimId) }, open: false }, { $set: { open: true } });
      }
      return covered;
    },

    async unsettled(dimensions, limit) {
      const byName = new Map(dimensions.map((dimension) => [dimension.name, dimension]));
      if (byName.size === 0) return [];
      const open = claims.find({ open: true, dimension: { $in: [...byName.keys()] } });
      const found = await open.sort({ slot: 1 }).limit(limit).toArray();
      return found.flatMap((document) => claimOf(document, byName));
    },

    giveAway: (columns) => giveAway(claims, columns),

    async forget(dimensions, before) {
      if (dimensions.length === 0) return;
      const names = dimensions.map(({ name }) => name);
      await claims.deleteMany({ dimension: { $in: [...names] }, slot: { $lt: before }, open: false });
    },
  };
}

/** Makes claims; hands out those made, and those of which there is one already. */
async function insert(claims: Collection<ClaimDocument>, samples: readonly SlotSample[]) {
  const mark = randomBytes(12).toString("hex");
  const documents = samples.map(
    (sample): ClaimDocument => ({
      _id: claimId(sample),
      ...namesOf(sample.series),
      slot: sample.slot,
      value: sample.value,
      confirmed: false,
      given: false,
      open: true,
      mark,
    }),
  );
  const there = await claims.insertMany(documents, { ordered: false }).then(() => new Set<number>(), duplicatesOf);
  return {
    fresh: samples.filter((_, at) => !there.has(at)),
    met: samples.filter((_, at) => there.has(at)),
  };
}

/** Claims that keep less take the larger value, and are open again. */
async function raise(claims: Collection<ClaimDocument>, samples: readonly SlotSample[]): Promise<void> {
  const kept = await read(claims, samples);
  const mark = randomBytes(12).toString("hex");
  const larger = samples.flatMap((sample) => {
    const document = kept.get(claimId(sample))?.document;
    if (document === undefined || document.given || document.value >= sample.value) return [];
    const { value } = sample;
    const filter = { _id: document._id, given: false, value: { $lt: value } };
    return [{ updateOne: { filter, update: { $set: { value, open: true, mark } } } }];
  });
  if (larger.length > 0) await claims.bulkWrite(larger, { ordered: false });
}

interface Kept extends SeriesSlot {
  readonly document: ClaimDocument;
}

/** What is kept of slots, by `_id`. */
async function read(claims: Collection<ClaimDocument>, slots: readonly SeriesSlot[]): Promise<Map<string, Kept>> {
  if (slots.length === 0) return new Map();
  const byId = new Map(slots.map((slot) => [claimId(slot), slot]));
  const found = await claims.find({ _id: { $in: [...byId.keys()] } }).toArray();
  return new Map(
    found.flatMap((document) => {
      const slot = byId.get(document._id);
      return slot === undefined ? [] : [[document._id, { series: slot.series, slot: slot.slot, document }] as const];
    }),
  );
}

async function readInOrder(claims: Collection<ClaimDocument>, slots: readonly SeriesSlot[]): Promise<Kept[]> {
  const kept = await read(claims, slots);
  return slots.flatMap((slot) => kept.get(claimId(slot)) ?? []);
}

function claimOf(document: ClaimDocument, byName: ReadonlyMap<string, Dimension>): SlotClaim[] {
  const { id, type, slot, value, confirmed } = document;
  const dimension = byName.get(document.dimension);
  return dimension === undefined ? [] : [{ series: { dimension, id, type }, slot, value, confirmed }];
}
