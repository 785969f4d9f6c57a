import { randomBytes } from "node:crypto";
import type { Binary, Collection, Db } from "mongodb";
import type { Clock } from "../../clock.js";
import type { Binding, EntityId } from "../../entities/entity.js";
import type { IdentityHash } from "../../entities/identity.js";
import { findByIds } from "./collection.js";

/**
 * What is stored of an entity. This document alone says which identities it has: an identity's own document only points
 * to where to look. One write of it, on condition of its revision, is the commit of a save.
 */
export interface EntityRecord {
  readonly _id: EntityId;
  /** As it is without `joining`. `none`: nothing but that it is about to end in another from its start. */
  readonly state: "live" | "joined" | "dead" | "none";
  readonly revision: number;
  readonly table?: string;
  /** Also of a joined one: the newest are those whose keys an older ledger lacks. */
  readonly born?: number;
  readonly bindings?: readonly Binding[];
  readonly sealed?: Binary;
  /** Ids that ended in it. Kept when it is joined or dead, for what still has it in `joining`. */
  readonly joined?: readonly EntityId[];
  /** Where a joined one ended. */
  readonly into?: EntityId;
  readonly joining?: JoinLock;
  /** Of `joined`, those whose own documents and identities may not say so yet. */
  readonly absorbing?: readonly EntityId[];
  /** Token of the save that wrote it last. */
  readonly save?: string;
}

/** Held by a save that joins the entity into another. It has happened if, and only if, that one's `joined` says so. */
export interface JoinLock {
  readonly into: EntityId;
  /** Of the save that holds it. */
  readonly token: string;
  /** When it was taken, Unix ms by the clock of that process. */
  readonly at: number;
}

/** Where to look for the entity that has an identity. It counts only if that entity, or where it ended, lists the hash. */
export interface IdentityRecord {
  readonly _id: IdentityHash;
  readonly entity: EntityId;
  /** Of the save that pointed it here last: another one for each reservation. */
  readonly token: string;
  readonly at: number;
}

export interface EntityRecords {
  readonly entities: Collection<EntityRecord>;
  readonly identities: Collection<IdentityRecord>;
  readonly clock: Clock;
}

export function entityRecords(db: Db, clock: Clock): EntityRecords {
  return { entities: db.collection("entities"), identities: db.collection("identities"), clock };
}

type Projection = Readonly<Record<string, 1>>;

/** Everything but the attributes. */
const HEAD: Projection = { state: 1, revision: 1, bindings: 1, joined: 1, into: 1, joining: 1, absorbing: 1 };

/** The documents of these ids as they lie there. */
export async function readHeads(
  { entities }: EntityRecords,
  ids: readonly EntityId[],
  projection: Projection = HEAD,
): Promise<Map<EntityId, EntityRecord>> {
  if (ids.length === 0) return new Map();
  const found = await findByIds(entities, ids, { projection });
  return new Map(found.map((record) => [record._id, record]));
}

/** Joins that follow each other while we look; more than that is a loop. */
const LONGEST_CHAIN = 64;

/**
 * The documents of these ids and of all that they ended or may have ended in. Where one leads to another, that one was
 * read after it, so that no join is seen by half.
 */
export async function follow(
  records: EntityRecords,
  ids: Iterable<EntityId>,
  projection: Projection = HEAD,
): Promise<Followed> {
  const seen = new Map<EntityId, EntityRecord>();
  const walked = new Set<string>();
  let next = new Set(ids);
  for (let step = 0; next.size > 0 && step < LONGEST_CHAIN; step += 1) {
    const read = await readHeads(records, [...next], projection);
    for (const id of next) seen.delete(id);
    next = new Set();
    for (const [id, record] of read) {
      seen.set(id, record);
      const to = record.joining?.into ?? record.into;
      const way = `${id} ${record.state} ${to}`;
      if (to === undefined || walked.has(way)) continue;
      walked.add(way);
      next.add(to);
    }
  }
  return new Followed(seen);
}

/** What ids stand for, joins under way decided. */
export class Followed {
  readonly #records: ReadonlyMap<EntityId, EntityRecord>;

  constructor(records: ReadonlyMap<EntityId, EntityRecord>) {
    this.#records = records;
  }

  /** What is stored of it, if it is live. */
  live(id: EntityId): EntityRecord | undefined {
    const record = this.#records.get(id);
    return record?.state === "live" && this.into(id) === undefined ? record : undefined;
  }

  /** What it ended in. */
  into(id: EntityId): EntityId | undefined {
    const record = this.#records.get(id);
    if (record?.joining === undefined) return record?.into;
    const { into } = record.joining;
    return this.#records.get(into)?.joined?.includes(id) ? into : undefined;
  }

  isDead(id: EntityId): boolean {
    return this.#records.get(id)?.state === "dead" && this.into(id) === undefined;
  }

  /** The live entity that it is, or ended in. */
  root(id: EntityId): EntityRecord | undefined {
    let at = id;
    for (let step = 0; step < LONGEST_CHAIN; step += 1) {
      const into = this.into(at);
      if (into === undefined) return this.live(at);
      at = into;
    }
    return undefined;
  }
}

export function lists(record: EntityRecord | undefined, hash: IdentityHash): boolean {
  return record?.bindings?.some((binding) => binding.hash === hash) ?? false;
}

/** A token that no other save has. */
export function newToken(): string {
  return randomBytes(12).toString("hex");
}

/** How long a lock or a reservation is left to its holder; then whoever needs it makes the holder's save fail. */
const HELD_MS = 600;

/** Whether its holder may still be at work. The holder's clock may be another one: of that only the work depends, not what it comes to. */
export function isFresh({ at }: { readonly at: number }, clock: Clock): boolean {
  return Math.abs(clock() - at) < HELD_MS;
}
