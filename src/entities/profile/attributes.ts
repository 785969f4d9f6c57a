import { compareVersions } from "./entity.js";
import { type AttributeState, type EntityDocument, encodedBytes } from "./entity-document.js";
import { type Identity, identityKey } from "./identity.js";

/**
 * A document under construction: the newest value of each attribute, and every identity. The result depends neither
 * on the order of merged documents nor on duplicates.
 */
export class AttributesDraft {
  readonly #attributes: Map<string, AttributeState>;
  readonly #identities: Map<string, Identity>;
  readonly #streams: Set<string>;
  #modified: number | undefined;
  #bytes: number;
  #changes = 0;

  /** Starts empty, or with a document of known encoded size. */
  constructor(document?: EntityDocument, bytes = 0) {
    this.#attributes = new Map(document?.attributes);
    this.#identities = new Map(document?.identities.map((identity) => [identityKey(identity), identity]));
    this.#streams = new Set(document?.streams);
    this.#modified = document?.modified;
    this.#bytes = bytes;
  }

  /** Returns an independent copy. */
  copy(): AttributesDraft {
    return new AttributesDraft(this.document(), this.#bytes);
  }

  /** Size of the encoded document, within a few bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of changed attribute values and added identities. */
  get changes(): number {
    return this.#changes;
  }

  /** Records the arrival of a message that changed the entity. */
  noteChange(arrival: number): void {
    this.#modified = Math.max(arrival, this.#modified ?? arrival);
  }

  /** Merges a document into this draft. */
  merge(document: EntityDocument): this {
    for (const [name, state, growth] of this.#newsOf(document)) {
      const kept = this.#attributes.get(name);
      if (textOf(state) !== (kept === undefined ? "" : textOf(kept))) this.#changes += 1;
      this.#attributes.set(name, state);
      this.#bytes += growth;
    }
    for (const identity of document.identities) {
      const key = identityKey(identity);
      if (this.#identities.has(key)) continue;
      this.#identities.set(key, identity);
      this.#changes += 1;
      this.#bytes += Buffer.byteLength(key) + 6;
    }
    for (const stream of document.streams) {
      this.#bytes += this.#growthBy(stream);
      this.#streams.add(stream);
    }
    if (document.modified !== undefined) this.noteChange(document.modified);
    return this;
  }

  /**
   * Returns the size after merging a document, without its identities. Stops far above `most` and returns the size so
   * far.
   */
  bytesWith(document: EntityDocument, most: number): number {
    let bytes = this.#bytes;
    for (const stream of document.streams) bytes += this.#growthBy(stream);
    for (const [, , growth] of this.#newsOf(document)) {
      bytes += growth;
      if (bytes > 2 * most) break;
    }
    return bytes;
  }

  /** Returns the size of the values that are too old to change the draft. */
  lateBytes({ attributes }: EntityDocument): number {
    let bytes = 0;
    for (const [name, state] of attributes) if (!this.#isNews(name, state)) bytes += encodedBytes(name, state);
    return bytes;
  }

  /** Returns whether any of these identities is new. */
  lacks(identities: readonly Identity[]): boolean {
    return identities.some((identity) => !this.#identities.has(identityKey(identity)));
  }

  /** Returns the number of values of the largest identity field after adding these. */
  valuesWith(added: readonly Identity[]): number {
    const counts = new Map<string, number>();
    const all = new Map([...this.#identities, ...added.map((identity) => [identityKey(identity), identity] as const)]);
    for (const { field } of all.values()) counts.set(field, (counts.get(field) ?? 0) + 1);
    return Math.max(0, ...counts.values());
  }

  document(): EntityDocument {
    const keys = [...this.#identities.keys()].sort();
    return {
      attributes: new Map(this.#attributes),
      identities: keys.map((key) => this.#identities.get(key) as Identity),
      streams: [...this.#streams].sort(),
      modified: this.#modified,
    };
  }

  /** Returns the bytes that a stream adds. */
  #growthBy(stream: string): number {
    return this.#streams.has(stream) ? 0 : Buffer.byteLength(stream) + 3;
  }

  /** Yields the values that are newer than the stored ones, with the bytes that each adds. */
  *#newsOf({ attributes }: EntityDocument): Generator<[name: string, state: AttributeState, growth: number]> {
    for (const [name, state] of attributes) {
      if (!this.#isNews(name, state)) continue;
      const kept = this.#attributes.get(name);
      yield [name, state, encodedBytes(name, state) - (kept === undefined ? 0 : encodedBytes(name, kept))];
    }
  }

  #isNews(name: string, state: AttributeState): boolean {
    const kept = this.#attributes.get(name);
    return kept === undefined || isNewer(state, kept);
  }
}

/** Orders equal versions of different writers by value, so that every order of arrival gives the same result. */
function isNewer(a: AttributeState, b: AttributeState): boolean {
  const order = compareVersions(a.version, b.version);
  return order > 0 || (order === 0 && textOf(a) > textOf(b));
}

function textOf({ value }: AttributeState): string {
  return value === undefined ? "" : JSON.stringify(value);
}
