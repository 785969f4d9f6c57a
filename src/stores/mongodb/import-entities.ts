import { Binary, type Db } from "mongodb";
import { systemClock } from "../../clock.js";
import type { CopyRecords, EntityRecord as EntityCopy, MembershipRecord, PartTarget } from "../copy.js";
import { type EntityRecord, entityRecords, type IdentityRecord } from "./entity-records.js";
import { importPart } from "./import-part.js";
import { type MembershipDocument, membershipDocument, statementsOf } from "./membership-statements.js";

/** Entities, the identities that lead to them, and their memberships. */
export function entityParts(db: Db): {
  readonly [P in "entities" | "identities" | "memberships"]: PartTarget<CopyRecords[P]>;
} {
  const { entities, identities } = entityRecords(db, systemClock);
  return {
    entities: importPart<EntityRecord, EntityCopy>({ collection: entities, documentOf, recordOf }),
    identities: importPart<IdentityRecord, CopyRecords["identities"]>({
      collection: identities,
      documentOf: ({ id, entity }) => ({ _id: id, entity, token: "copied", at: 0 }),
      recordOf: ({ _id, entity }) => ({ id: _id, entity }),
    }),
    memberships: importPart<MembershipDocument, MembershipRecord>({
      collection: db.collection<MembershipDocument>("memberships"),
      documentOf: ({ id, floor, statements }) => {
        const bySegment = new Map(statements.map(({ segment, member, ...stamp }) => [segment, { member, stamp }]));
        return membershipDocument(id, { floor, bySegment }, "copied");
      },
      recordOf: membershipRecord,
    }),
  };
}

function documentOf(copy: EntityCopy): EntityRecord {
  if (copy.state === "dead") return { _id: copy.id, state: "dead", revision: 1 };
  if (copy.state === "joined") return { _id: copy.id, state: "joined", revision: 1, into: copy.into };
  const { id, sealed, ...rest } = copy;
  return { _id: id, ...rest, sealed: new Binary(sealed) };
}

function recordOf(document: EntityRecord): EntityCopy {
  const { _id: id, state, revision, table = "", born = 0, bindings = [], joined = [], sealed, into } = document;
  if (state === "joined" && into !== undefined) return { id, state, into };
  if (state !== "live" || sealed === undefined) return { id, state: "dead" };
  return { id, state, table, revision, born, bindings, joined, sealed: new Uint8Array(sealed.value()) };
}

function membershipRecord(document: MembershipDocument): MembershipRecord {
  const { floor, bySegment } = statementsOf(document);
  const statements = [...bySegment].map(([segment, { member, stamp }]) => ({ segment, member, ...stamp }));
  return { id: document._id, floor, statements: statements.sort(bySegmentName) };
}

function bySegmentName(a: { readonly segment: string }, b: { readonly segment: string }): number {
  return a.segment < b.segment ? -1 : 1;
}
