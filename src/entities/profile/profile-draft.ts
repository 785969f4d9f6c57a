import type { ProfileChange } from "../ports.js";
import { AttributesDraft } from "./attributes.js";
import type { SegmentDeletions } from "./deleted-segments.js";
import type { EntityId, Memberships, StoredEntity } from "./entity.js";
import type { EntityDocument, OpenedDocument } from "./entity-document.js";
import type { IdentityHash } from "./identity.js";
import { MembershipDraft, movesTo, noMemberships } from "./memberships.js";
import type { BatchMessage } from "./message.js";

/** A stored profile with its decrypted document. */
export interface OpenProfile {
  readonly entity: StoredEntity;
  readonly opened: OpenedDocument;
}

/** Several profiles merged. */
export interface MergedDrafts {
  readonly draft: AttributesDraft;
  readonly memberships: MembershipDraft;
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
  readonly revision: number;
  readonly #hashes: Set<IdentityHash>;
  readonly #addedHashes = new Set<IdentityHash>();
  readonly #mergedIds: Set<EntityId>;
  readonly #mergedFrom: { readonly id: EntityId; readonly revision: number }[] = [];
  readonly #memberships: MembershipDraft;
  /** The stored memberships of this profile and of those merged into it. */
  readonly #storedMemberships: Memberships[];
  #draft = new AttributesDraft();
  #changes = 0;
  #parent: ProfileDraft | undefined;

  private constructor(entity: Omit<StoredEntity, "sealed">, order: number) {
    this.id = entity.id;
    this.table = entity.table;
    this.born = entity.born;
    this.order = order;
    this.revision = entity.revision;
    this.#hashes = new Set(entity.hashes);
    this.#mergedIds = new Set(entity.mergedIds);
    this.#memberships = new MembershipDraft(entity.memberships);
    this.#storedMemberships = [entity.memberships];
  }

  static stored({ entity, opened }: OpenProfile): ProfileDraft {
    const profile = new ProfileDraft(entity, -1);
    profile.#draft = new AttributesDraft(opened.document, opened.bytes);
    return profile;
  }

  static fresh(id: EntityId, table: string, born: number, order: number): ProfileDraft {
    const nothing = { revision: 0, hashes: [], mergedIds: [], memberships: noMemberships };
    return new ProfileDraft({ id, table, born, ...nothing }, order);
  }

  /** Returns the result of merging these profiles, without changing them. */
  static united(drafts: readonly ProfileDraft[]): MergedDrafts {
    const [first, ...others] = drafts;
    if (first === undefined) return { draft: new AttributesDraft(), memberships: new MembershipDraft() };
    if (others.length === 0) return { draft: first.#draft, memberships: first.#memberships };
    const draft = first.#draft.copy();
    const memberships = new MembershipDraft(first.#memberships.memberships());
    for (const profile of others) {
      draft.merge(profile.#draft.document());
      memberships.merge(profile.#memberships.memberships());
    }
    return { draft, memberships };
  }

  /** Changes whenever the draft changes; used as a cache key. */
  get state(): string {
    return `${this.id} ${this.#changes}`;
  }

  /** Number of segments with an update. */
  get segments(): number {
    return this.#memberships.size;
  }

  /** Number of segments whose update has changed. */
  get changedUpdates(): number {
    return this.#memberships.changed.size;
  }

  /** Whether the batch created it. */
  get isNew(): boolean {
    return this.revision === 0;
  }

  /** The profile that it was finally merged into; itself if it was not merged. */
  get root(): ProfileDraft {
    return this.#parent === undefined ? this : this.#parent.root;
  }

  get document(): EntityDocument {
    return this.#draft.document();
  }

  /** Returns whether it has an identity of this field. */
  hasField(field: string): boolean {
    return this.#draft.hasField(field);
  }

  /** Merges the other profiles of a message into this one and applies the message. */
  take(
    { hashes, version, message }: BatchMessage,
    document: EntityDocument,
    others: readonly ProfileDraft[],
    deletions: SegmentDeletions,
  ): void {
    for (const other of others) this.#merge(other);
    const before = this.#draft.changes + this.#memberships.moves;
    this.#draft.merge(document);
    if (message.segments !== undefined) this.#memberships.apply(message.segments, version, deletions);
    const isChanged = others.length > 0 || this.#draft.changes + this.#memberships.moves > before;
    if (isChanged) this.#draft.recordChange(version.arrival);
    for (const hash of hashes) this.#addHash(hash);
    this.#changes += 1;
  }

  /** Returns the change to commit, with the encrypted document. */
  change(sealed: Uint8Array): ProfileChange {
    const { id, table, revision, born } = this;
    const memberships = this.#memberships.memberships();
    const [hashes, mergedIds] = [[...this.#hashes], [...this.#mergedIds]];
    const entity = { id, table, revision, born, hashes, mergedIds, memberships, sealed };
    const { changed: changedSegments } = this.#memberships;
    const moves = movesTo(this.#memberships, this.#storedMemberships);
    return { entity, changedSegments, moves, addedHashes: this.#addedHashes, mergedFrom: this.#mergedFrom };
  }

  #merge(other: ProfileDraft): void {
    other.#parent = this;
    this.#draft.merge(other.#draft.document());
    this.#memberships.merge(other.#memberships.memberships());
    this.#storedMemberships.push(...other.#storedMemberships);
    for (const hash of other.#hashes) this.#addHash(hash);
    for (const id of other.#mergedIds) this.#mergedIds.add(id);
    this.#mergedFrom.push(...other.#mergedFrom);
    if (!other.isNew) {
      this.#mergedIds.add(other.id);
      this.#mergedFrom.push({ id: other.id, revision: other.revision });
    }
  }

  #addHash(hash: IdentityHash): void {
    if (this.#hashes.has(hash)) return;
    this.#hashes.add(hash);
    this.#addedHashes.add(hash);
  }
}
