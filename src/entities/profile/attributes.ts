import { type StreamFacts, unitedFacts } from "../../segments/stream-facts.js";
import { compareVersions } from "./entity.js";
import { type AttributeState, type EntityDocument, encodedBytes, type Json } from "./entity-document.js";
import { type Identity, identityKey } from "./identity.js";

/** A value that is newer than the stored one, and the bytes that it adds. */
interface News {
  readonly name: string;
  readonly state: AttributeState;
  readonly growth: number;
}

/**
 * A document under construction: the newest value of each attribute, and every identity. The result depends neither
 * on the order of merged documents nor on duplicates.
 */
export class AttributesDraft {
  readonly #attributes: Map<string, AttributeState>;
  readonly #identities: Map<string, Identity>;
  readonly #streams: Set<string>;
  readonly #facts: Map<string, StreamFacts>;
  /** Event times to keep of each stream; one if it is absent. */
  readonly #newestTimes: ReadonlyMap<string, number>;
  #modified: number | undefined;
  #bytes: number;
  #changes = 0;

  /** Starts empty, or with a document of known encoded size. `newestTimes`: see `RuleSet`. */
  constructor(document?: EntityDocument, bytes = 0, newestTimes: ReadonlyMap<string, number> = new Map()) {
    this.#newestTimes = newestTimes;
    this.#attributes = new Map(document?.attributes);
    this.#identities = new Map(document?.identities.map((identity) => [identityKey(identity), identity]));
    this.#streams = new Set(document?.streams);
    this.#facts = new Map(document?.facts);
    this.#modified = document?.modified;
    this.#bytes = bytes;
  }

  /** Returns an independent copy. */
  copy(): AttributesDraft {
    return new AttributesDraft(this.document(), this.#bytes, this.#newestTimes);
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
  recordChange(arrival: number): void {
    this.#modified = Math.max(arrival, this.#modified ?? arrival);
  }

  /** Merges a document into this draft. */
  merge(document: EntityDocument): this {
    for (const { name, state, growth } of this.#newsOf(document)) {
      if (!hasValue(this.#attributes.get(name), state)) this.#changes += 1;
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
      this.#mergeFacts(stream, document.facts.get(stream));
      this.#bytes += this.#growthBy(stream);
      this.#streams.add(stream);
    }
    if (document.modified !== undefined) this.recordChange(document.modified);
    return this;
  }

  /**
   * Returns the size after merging a document, without its identities. Stops far above `most` and returns the size so
   * far.
   */
  bytesWith(document: EntityDocument, most: number): number {
    let bytes = this.#bytes;
    for (const stream of document.streams) bytes += this.#growthBy(stream);
    for (const { growth } of this.#newsOf(document)) {
      bytes += growth;
      if (bytes > 2 * most) return bytes;
    }
    return bytes;
  }

  /** Returns the size of the values that are too old to change the draft. */
  outdatedBytes({ attributes }: EntityDocument): number {
    let bytes = 0;
    for (const [name, state] of attributes) if (!this.#isNews(name, state)) bytes += encodedBytes(name, state);
    return bytes;
  }

  /** Facts about two parts are known if both are. */
  #mergeFacts(stream: string, facts: StreamFacts | undefined): void {
    const own = this.#facts.get(stream);
    if (facts === undefined) this.#facts.delete(stream);
    else if (!this.#streams.has(stream)) this.#facts.set(stream, facts);
    else if (own !== undefined) this.#facts.set(stream, unitedFacts(own, facts, this.#newestTimes.get(stream) ?? 1));
  }

  /** Returns the value of an attribute, or the values of an identity field; undefined: none. */
  value(name: string): Json | undefined {
    const state = this.#attributes.get(name);
    if (state !== undefined) return state.value;
    const values = [...this.#identities.values()].filter(({ field }) => field === name).map(({ value }) => value);
    return values.length > 0 ? values : undefined;
  }

  /** Returns the facts about a stream; undefined without a message that counts. */
  factsOf(stream: string): StreamFacts | undefined {
    const facts = this.#facts.get(stream);
    return facts?.count === 0 ? undefined : facts;
  }

  /** Newest event time over all streams; undefined without a message that counts. */
  get seenAt(): number | undefined {
    let newest: number | undefined;
    for (const { newest: times } of this.#facts.values()) {
      const [time] = times;
      if (time !== undefined && (newest === undefined || time > newest)) newest = time;
    }
    return newest;
  }

  /** Returns whether there is an identity of this field. */
  hasField(field: string): boolean {
    for (const identity of this.#identities.values()) if (identity.field === field) return true;
    return false;
  }

  /** Returns whether any of these identities is new. */
  lacks(identities: readonly Identity[]): boolean {
    return identities.some((identity) => !this.#identities.has(identityKey(identity)));
  }

  /** Returns whether an identity field would have more than `most` values after adding these. */
  hasMoreValues(added: readonly Identity[], most: number): boolean {
    if (this.#identities.size + added.length <= most) return false;
    const counts = new Map<string, number>();
    const all = new Map([...this.#identities, ...added.map((identity) => [identityKey(identity), identity] as const)]);
    for (const { field } of all.values()) counts.set(field, (counts.get(field) ?? 0) + 1);
    return Math.max(...counts.values()) > most;
  }

  /** Returns the document. It is valid until the next change. */
  document(): EntityDocument {
    const keys = [...this.#identities.keys()].sort();
    return {
      attributes: this.#attributes,
      identities: keys.map((key) => this.#identities.get(key) as Identity),
      streams: [...this.#streams].sort(),
      facts: this.#facts,
      modified: this.#modified,
    };
  }

  /** Returns the bytes that a stream adds. */
  #growthBy(stream: string): number {
    return this.#streams.has(stream) ? 0 : Buffer.byteLength(stream) + 3;
  }

  /** Yields the values that are newer than the stored ones. */
  *#newsOf({ attributes }: EntityDocument): Generator<News> {
    for (const [name, state] of attributes) {
      if (!this.#isNews(name, state)) continue;
      const stored = this.#attributes.get(name);
      yield {
        name,
        state,
        growth: encodedBytes(name, state) - (stored === undefined ? 0 : encodedBytes(name, stored)),
      };
    }
  }

  #isNews(name: string, state: AttributeState): boolean {
    const stored = this.#attributes.get(name);
    return stored === undefined || isNewer(state, stored);
  }
}

/** Orders equal versions of different writers by value, so that every order of arrival gives the same result. */
function isNewer(a: AttributeState, b: AttributeState): boolean {
  const order = compareVersions(a.version, b.version);
  return order > 0 || (order === 0 && textOf(a) > textOf(b));
}

/** Returns whether two states have the same value; undefined is no value. */
function hasValue(a: AttributeState | undefined, b: AttributeState): boolean {
  return a?.value === b.value || (a !== undefined && textOf(a) === textOf(b));
}

function textOf({ value }: AttributeState): string {
  return value === undefined ? "" : JSON.stringify(value);
}
