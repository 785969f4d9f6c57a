import { randomBytes } from "node:crypto";
import type { Commit, EntityStore, HistoryMessage, ProfileChange } from "../../src/entities/ports.js";
import { seal, unseal } from "../../src/entities/profile/encryption.js";
import {
  type EntityId,
  noSegmentDeletions,
  type StoredEntity,
  type Version,
} from "../../src/entities/profile/entity.js";
import { decodeDocument, encodeDocument } from "../../src/entities/profile/entity-document.js";
import { MembershipDraft, noMemberships } from "../../src/entities/profile/memberships.js";

let serial = 0;

export const newEntityId = (): EntityId => randomBytes(16).toString("hex");
export const newHash = () => randomBytes(32).toString("hex");

/** A time whose parts of a ms distinguish it from others, as arrivals have. */
export const exactTime = 1_780_000_000_000 + 7 / 1024;

/** A profile that is not stored yet, with these identities. */
export function freshEntity(hashes: readonly string[] = [], more: Partial<StoredEntity> = {}): StoredEntity {
  return {
    id: newEntityId(),
    table: "user",
    revision: 0,
    born: 1000.25,
    hashes: [...hashes].sort(),
    mergedIds: [],
    memberships: noMemberships,
    due: undefined,
    sealed: Uint8Array.of(1, 2, 3),
    ...more,
  };
}

/** The profile as version 1.0.0 stored it: without facts. */
export function withoutFacts(entity: StoredEntity, keys: ReadonlyMap<EntityId, Uint8Array>): StoredEntity {
  const document = decodeDocument(unseal(keys, { entity: entity.id, sealed: entity.sealed }) as Uint8Array);
  const encoded = Buffer.from(encodeDocument(document)).toString();
  const plain = Buffer.from(encoded.slice(0, encoded.indexOf("\n")));
  return { ...entity, sealed: seal(keys, [{ entity: entity.id, plain }])[0] as Uint8Array };
}

/** Updates of one message about segments, at a time. */
export interface Said {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
  readonly full?: boolean;
  readonly version?: Version;
}

/** The change of a profile by these updates. */
export function changeOf(
  entity: StoredEntity,
  said: readonly Said[] = [],
  mergedFrom: ProfileChange["mergedFrom"] = [],
  deletions = noSegmentDeletions,
): ProfileChange {
  const draft = new MembershipDraft(entity.memberships);
  for (const { add = [], remove = [], full = false, version = { time: 1, arrival: 1, position: 0 } } of said)
    draft.apply({ add, remove, full }, version, deletions);
  return {
    entity: { ...entity, memberships: draft.memberships() },
    changedSegments: draft.changed,
    turns: draft.turns(),
    addedHashes: new Set(entity.hashes),
    mergedFrom,
  };
}

/** A commit of these profiles; identities that are not named in `more` were held by no entity. */
export function commitOf(profiles: readonly ProfileChange[], more: Partial<Commit> = {}): Commit {
  const fresh = profiles.filter(({ entity }) => entity.revision === 0);
  return {
    messages: [],
    lastingIds: [],
    uncounted: new Set(),
    profiles,
    keys: new Map(fresh.map(({ entity }) => [entity.id, new Uint8Array(randomBytes(32))])),
    owners: new Map(fresh.flatMap(({ entity }) => entity.hashes.map((hash) => [hash, undefined] as const))),
    cutOffs: new Map(),
    generation: 0,
    at: Math.max(0, ...(more.messages ?? []).map(({ arrival }) => arrival)),
    segments: [],
    ...more,
  };
}

export function messageFor(entity: EntityId, more: Partial<HistoryMessage> = {}): HistoryMessage {
  serial += 1;
  const own = { id: randomBytes(16).toString("hex"), table: "user", stream: "web", entity };
  return { ...own, time: 3_600_001, arrival: 10.5, position: serial, sealed: Uint8Array.of(1, 2), ...more };
}

/** Keeps the profile, with messages; resolves with it as it is stored. */
export async function keep(
  store: EntityStore,
  entity: StoredEntity,
  { said = [], messages = [] }: { said?: readonly Said[]; messages?: readonly HistoryMessage[] } = {},
): Promise<StoredEntity> {
  const named = said.flatMap(({ add = [], remove = [] }) => [...add, ...remove]);
  const { deletions } = await store.find([], 0, named);
  const change = changeOf(entity, said, [], deletions);
  if (!(await store.commit(commitOf([change], { messages, generation: deletions.newest }))))
    throw new Error("the commit was refused");
  const { revision = 0 } = (await store.load([entity.id])).profiles.get(entity.id) ?? {};
  return { ...change.entity, revision };
}
