import { DAY } from "../../formats/time-zone.js";
import type { Rules } from "../../segments/current-rules.js";
import type { RuleProfile } from "../../segments/rule-profile.js";
import type { Explanation } from "../../segments/rule-set.js";
import type { ProfileChange } from "../ports.js";
import { AttributesDraft } from "./attributes.js";
import type { EntityId, SegmentDeletions, StoredEntity } from "./entity.js";
import { type DecodedDocument, decodeDocument, documentBytes, type EntityDocument } from "./entity-document.js";
import type { IdentityHash } from "./identity.js";
import { MembershipDraft, noMemberships } from "./memberships.js";
import type { BatchMessage } from "./message.js";

/** A stored profile with its decrypted document. */
export interface DecodedProfile {
  readonly entity: StoredEntity;
  readonly decoded: DecodedDocument;
}

export function decodeProfile(entity: StoredEntity, plain: Uint8Array): DecodedProfile {
  return { entity, decoded: { document: decodeDocument(plain), bytes: documentBytes(plain) } };
}

/** A stored or new profile, with the changes that a batch merges into it. */
export class ProfileDraft {
  readonly id: EntityId;
  readonly table: string;
  readonly born: number;
  /**
   * Age among profiles of the same arrival: the first one found is the older, and stored ones are older than new ones.
   */
  readonly order: number;
  /** 0 for a profile that the batch created. */
  readonly revision: number;
  readonly attributes: AttributesDraft;
  readonly memberships: MembershipDraft;
  readonly #rules: Rules;
  readonly #hashes: Set<IdentityHash>;
  readonly #addedHashes = new Set<IdentityHash>();
  readonly #mergedIds: Set<EntityId>;
  readonly #mergedFrom: { readonly id: EntityId; readonly revision: number }[] = [];
  /** See `StoredEntity`. */
  due: number | undefined;
  #mergedInto: ProfileDraft | undefined;

  private constructor(
    { id, table, born, revision, hashes, mergedIds, due }: Omit<StoredEntity, "sealed" | "memberships">,
    order: number,
    attributes: AttributesDraft,
    memberships: MembershipDraft,
    rules: Rules,
  ) {
    this.#rules = rules;
    this.id = id;
    this.table = table;
    this.born = born;
    this.order = order;
    this.revision = revision;
    this.attributes = attributes;
    this.memberships = memberships;
    this.#hashes = new Set(hashes);
    this.#mergedIds = new Set(mergedIds);
    this.due = due;
  }

  static stored({ entity, decoded }: DecodedProfile, rules: Rules): ProfileDraft {
    const { newestTimes } = rules.of(entity.table);
    const attributes = new AttributesDraft(decoded.document, decoded.bytes, newestTimes);
    return new ProfileDraft(entity, -1, attributes, new MembershipDraft(entity.memberships, rules.segments), rules);
  }

  static fresh(id: EntityId, table: string, born: number, order: number, rules: Rules): ProfileDraft {
    const entity = { id, table, born, revision: 0, hashes: [], mergedIds: [], due: undefined };
    const attributes = new AttributesDraft(undefined, 0, rules.of(table).newestTimes);
    return new ProfileDraft(entity, order, attributes, new MembershipDraft(noMemberships, rules.segments), rules);
  }

  /** The profile that it was finally merged into; itself if it was not merged. */
  get root(): ProfileDraft {
    return this.#mergedInto === undefined ? this : this.#mergedInto.root;
  }

  /** Returns the result of merging others into this profile, which changes none of them. */
  mergedWith(others: readonly ProfileDraft[]): ProfileDraft {
    const entity = { ...this, hashes: [...this.#hashes], mergedIds: [...this.#mergedIds], due: this.due };
    const [attributes, memberships] = [this.attributes.copy(), this.memberships.copy()];
    const merged = new ProfileDraft(entity, this.order, attributes, memberships, this.#rules);
    for (const hash of this.#addedHashes) merged.#addedHashes.add(hash);
    merged.#mergedFrom.push(...this.#mergedFrom);
    for (const other of others) {
      merged.attributes.merge(other.attributes.document());
      merged.memberships.merge(other.memberships);
      for (const hash of other.#hashes) merged.#addHash(hash);
      for (const id of other.#mergedIds) merged.#mergedIds.add(id);
      merged.#mergedFrom.push(...other.#mergedFrom);
      if (other.revision === 0) continue;
      merged.#mergedIds.add(other.id);
      merged.#mergedFrom.push({ id: other.id, revision: other.revision });
    }
    return merged;
  }

  /** Applies a message. The profiles in `mergedFrom` are merged into this one. */
  apply(
    { hashes, version, message }: BatchMessage,
    document: EntityDocument,
    mergedFrom: readonly ProfileDraft[],
    deletions: SegmentDeletions,
  ): void {
    for (const profile of mergedFrom) profile.#mergedInto = this;
    const before = this.attributes.changes + this.memberships.changes;
    this.attributes.merge(document);
    if (message.segments !== undefined) this.memberships.apply(message.segments, version, deletions);
    const isChanged = mergedFrom.length > 0 || this.attributes.changes + this.memberships.changes > before;
    if (isChanged) this.attributes.recordChange(version.arrival);
    for (const hash of hashes) this.#addHash(hash);
  }

  /** Decides the segments by rule of its table at `now`, Unix ms. Returns the number of decisions that have changed. */
  decide(now: number): number {
    const { generation } = this.#rules;
    const rules = this.#rules.of(this.table);
    if (rules.segments.length === 0 && this.due === undefined) return 0;
    let changes = 0;
    const changesAt = rules.decide(this.#ruleProfile(), now, (segment, isMember) => {
      if (this.memberships.decide(segment, isMember, now, generation)) changes += 1;
    });
    this.due = dueAt(changesAt, this.due, now);
    return changes;
  }

  /** Evaluates every node of a segment's rule at `now`, Unix ms. Undefined for a segment without a rule. */
  explain(segment: string, now: number): Explanation | undefined {
    return this.#rules.of(this.table).explain(segment, this.#ruleProfile(), now);
  }

  /** Returns the change to commit, with the encrypted document. */
  change(sealed: Uint8Array): ProfileChange {
    const { id, table, revision, born } = this;
    const [hashes, mergedIds] = [[...this.#hashes], [...this.#mergedIds]];
    const memberships = this.memberships.memberships();
    return {
      entity: { id, table, revision, born, hashes, mergedIds, memberships, due: this.due, sealed },
      changedSegments: this.memberships.changed,
      turns: this.memberships.turns(),
      addedHashes: this.#addedHashes,
      mergedFrom: this.#mergedFrom,
    };
  }

  #ruleProfile(): RuleProfile {
    const { attributes, memberships } = this;
    return {
      createdAt: Math.floor(this.born),
      get seenAt() {
        return attributes.seenAt;
      },
      attribute: (name) => attributes.value(name),
      stream: (name) => attributes.factsOf(name),
      isMember: (segment) => memberships.isMember(segment),
    };
  }

  #addHash(hash: IdentityHash): void {
    if (this.#hashes.has(hash)) return;
    this.#hashes.add(hash);
    this.#addedHashes.add(hash);
  }
}

/**
 * Returns when rules must be decided again that change at `changesAt` (Unix ms; Infinity: never). It is never late. A
 * later day is rounded down, because the instant of an attribute, such as a birthday, is personal. The stored time
 * stays if it is earlier: most messages move it by a little, and each new time costs a write to its index.
 */
function dueAt(changesAt: number, stored: number | undefined, now: number): number | undefined {
  const due = changesAt - now > DAY ? Math.floor(changesAt / DAY) * DAY : changesAt;
  if (stored !== undefined && stored > now && stored <= due) return stored;
  return due === Number.POSITIVE_INFINITY ? undefined : due;
}
