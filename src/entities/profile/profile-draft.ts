import type { BatchMessage } from "../collect/message.js";
import type { ProfileChange } from "../ports.js";
import { AttributesDraft } from "./attributes.js";
import type { Binding, EntityId, StoredEntity } from "./entity.js";
import type { EntityDocument, OpenedDocument } from "./entity-document.js";
import type { IdentityHash } from "./identity.js";
import { MembershipDraft, noMemberships } from "./memberships.js";

/** A stored profile, and what is sealed in it. */
export interface OpenProfile {
  readonly entity: StoredEntity;
  readonly opened: OpenedDocument;
}

/** The union of several profiles. */
export interface UnitedDrafts {
  readonly draft: AttributesDraft;
  readonly memberships: MembershipDraft;
}

/** A profile as a batch sees it: stored or about to be, and what the batch merges into it. */
export class ProfileDraft {
  readonly id: EntityId;
  readonly table: string;
  readonly born: number;
  /** Of profiles born at once, the first one met is the older; stored ones are older than new ones. */
  readonly order: number;
  readonly revision: number;
  readonly #bindings: Map<IdentityHash, number>;
  readonly #changedHashes = new Set<IdentityHash>();
  readonly #mergedIds: Set<EntityId>;
  readonly #mergedFrom: { readonly id: EntityId; readonly revision: number }[] = [];
  readonly #memberships: MembershipDraft;
  #draft = new AttributesDraft();
  #changes = 0;
  /** Whether another profile was merged into it by a message that is not recorded yet. */
  #isUnited = false;
  #parent: ProfileDraft | undefined;

  private constructor(entity: Omit<StoredEntity, "sealed">, order: number) {
    this.id = entity.id;
    this.table = entity.table;
    this.born = entity.born;
    this.order = order;
    this.revision = entity.revision;
    this.#bindings = new Map(entity.bindings.map(({ hash, since }) => [hash, since]));
    this.#mergedIds = new Set(entity.mergedIds);
    this.#memberships = new MembershipDraft(entity.memberships);
  }

  static stored({ entity, opened }: OpenProfile): ProfileDraft {
    const profile = new ProfileDraft(entity, -1);
    profile.#draft = new AttributesDraft(opened.document, opened.bytes);
    return profile;
  }

  static fresh(id: EntityId, table: string, born: number, order: number): ProfileDraft {
    const nothing = { revision: 0, bindings: [], mergedIds: [], memberships: noMemberships };
    return new ProfileDraft({ id, table, born, ...nothing }, order);
  }

  /** The drafts that merging these would lead to; they stay as they are. */
  static united(drafts: readonly ProfileDraft[]): UnitedDrafts {
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

  /** Segments of which a statement is kept. */
  get segments(): number {
    return this.#memberships.size;
  }

  /** Whether the batch made it. */
  get isNew(): boolean {
    return this.revision === 0;
  }

  /** What it was merged into in the end; itself when it was not merged into another. */
  get root(): ProfileDraft {
    return this.#parent === undefined ? this : this.#parent.root;
  }

  get document(): EntityDocument {
    return this.#draft.document();
  }

  merge(other: ProfileDraft): void {
    other.#parent = this;
    this.#isUnited = true;
    this.#draft.merge(other.#draft.document());
    this.#memberships.merge(other.#memberships.memberships());
    for (const [hash, since] of other.#bindings) this.#bind(hash, since);
    for (const id of other.#mergedIds) this.#mergedIds.add(id);
    this.#mergedFrom.push(...other.#mergedFrom);
    if (!other.isNew) {
      this.#mergedIds.add(other.id);
      this.#mergedFrom.push({ id: other.id, revision: other.revision });
    }
    this.#changes += 1;
  }

  /** Takes in what a message says. */
  take({ hashes, version, message }: BatchMessage, document: EntityDocument): void {
    const before = this.#draft.changes + this.#memberships.moves;
    this.#draft.merge(document);
    if (message.segments !== undefined) this.#memberships.apply(message.segments, version);
    const isChanged = this.#isUnited || this.#draft.changes + this.#memberships.moves > before;
    if (isChanged) this.#draft.noteChange(version.arrival);
    this.#isUnited = false;
    for (const hash of hashes) this.#bind(hash, version.time);
    this.#changes += 1;
  }

  /** The change that keeps it, with its document sealed. */
  change(sealed: Uint8Array): ProfileChange {
    const { id, table, revision, born } = this;
    const bindings: Binding[] = Array.from(this.#bindings, ([hash, since]) => ({ hash, since }));
    const changedBindings = bindings.filter(({ hash }) => this.#changedHashes.has(hash));
    const memberships = this.#memberships.memberships();
    const entity = { id, table, revision, born, bindings, mergedIds: [...this.#mergedIds], memberships, sealed };
    return { entity, changedSegments: this.#memberships.changed, changedBindings, mergedFrom: this.#mergedFrom };
  }

  #bind(hash: IdentityHash, since: number): void {
    const known = this.#bindings.get(hash);
    if (known !== undefined && known <= since) return;
    this.#bindings.set(hash, since);
    this.#changedHashes.add(hash);
  }
}
