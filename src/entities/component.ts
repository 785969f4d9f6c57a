import type { BatchMessage } from "./batch-message.js";
import type { EntityId, StoredEntity } from "./entity.js";
import type { EntityDocument, OpenedDocument } from "./entity-document.js";
import type { FoundEntities } from "./find-entities.js";
import type { IdentityHash } from "./identity.js";
import { Draft } from "./merge-attributes.js";
import { segmentsNamedIn } from "./message.js";

/** An entity as a batch sees it: stored or about to be, and what the batch joins into it. */
export class Component {
  readonly id: EntityId;
  readonly table: string;
  readonly born: number;
  /** Of entities born at once, the first one met is the older; stored ones are older than new ones. */
  readonly order: number;
  readonly revision: number;
  /** Ids that ended in it before the batch. */
  readonly joinedBefore: readonly EntityId[];
  readonly #bindings: Map<IdentityHash, number>;
  readonly #joined: Set<EntityId>;
  readonly #absorbed: Component[] = [];
  readonly #released = new Set<EntityId>();
  readonly #segments = new Set<string>();
  #draft = new Draft();
  #changes = 0;
  #parent: Component | undefined;

  private constructor(entity: Omit<StoredEntity, "sealed">, order: number) {
    this.id = entity.id;
    this.table = entity.table;
    this.born = entity.born;
    this.order = order;
    this.revision = entity.revision;
    this.#bindings = new Map(entity.bindings.map(({ hash, since }) => [hash, since]));
    this.joinedBefore = entity.joined;
    this.#joined = new Set(entity.joined);
  }

  static stored(entity: StoredEntity, opened: OpenedDocument | undefined): Component {
    const component = new Component(entity, -1);
    if (opened !== undefined) component.#draft = new Draft(opened.document, opened.bytes);
    return component;
  }

  static fresh(id: EntityId, table: string, born: number, order: number): Component {
    return new Component({ id, table, born, revision: 0, bindings: [], joined: [] }, order);
  }

  /** What joining these would lead to; they stay as they are. */
  static unitedDraft(components: readonly Component[]): Draft {
    const [first, ...others] = components;
    if (first === undefined) return new Draft();
    if (others.length === 0) return first.#draft;
    const draft = first.#draft.copy();
    for (const component of others) draft.merge(component.#draft.document());
    return draft;
  }

  /** Another text whenever it has changed. */
  get version(): string {
    return `${this.id} ${this.#changes}`;
  }

  /** Segments that the batch names for it. */
  get segments(): ReadonlySet<string> {
    return this.#segments;
  }

  /** Whether the batch made it. */
  get isNew(): boolean {
    return this.revision === 0;
  }

  /** What it ended in; itself when nothing has absorbed it. */
  get root(): Component {
    return this.#parent === undefined ? this : this.#parent.root;
  }

  /** Everything that the batch joined into it, also indirectly. */
  get absorbed(): Component[] {
    return this.#absorbed.flatMap((component) => [...component.absorbed, component]);
  }

  /** Ids that ended in it before the batch or in it. */
  get joined(): EntityId[] {
    return [...this.#joined];
  }

  get bindings(): StoredEntity["bindings"] {
    return Array.from(this.#bindings, ([hash, since]) => ({ hash, since }));
  }

  /** Ids whose hold on an identity of this one is void. */
  get released(): EntityId[] {
    return [...this.#released];
  }

  get document(): EntityDocument {
    return this.#draft.document();
  }

  absorb(other: Component): void {
    other.#parent = this;
    this.#absorbed.push(other);
    this.#draft.merge(other.#draft.document());
    for (const [hash, since] of other.#bindings) this.#bind(hash, since);
    for (const id of [other.id, ...other.#joined]) this.#joined.add(id);
    for (const id of other.#released) this.#released.add(id);
    for (const id of other.#segments) this.#segments.add(id);
    this.#changes += 1;
  }

  /** Takes in what a message says. */
  take({ hashes, stamp, message }: BatchMessage, document: EntityDocument, found: FoundEntities): void {
    this.#draft.merge(document);
    for (const id of segmentsNamedIn(message)) this.#segments.add(id);
    this.#changes += 1;
    for (const hash of hashes) {
      this.#bind(hash, stamp.time);
      const holder = found.voidOwnerOf(hash);
      if (holder !== undefined) this.#released.add(holder);
    }
  }

  #bind(hash: IdentityHash, since: number): void {
    this.#bindings.set(hash, Math.min(since, this.#bindings.get(hash) ?? since));
  }
}
