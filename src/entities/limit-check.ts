import { Component } from "./component.js";
import type { EntityId } from "./entity.js";
import type { EntityDocument } from "./entity-document.js";
import type { Draft } from "./merge-attributes.js";
import { type Message, segmentsNamedIn } from "./message.js";

export type LimitReason = "too_many_values" | "entity_too_large" | "merge_too_large" | "too_many_segments";

export interface PlanLimits {
  /** Most values of one identity field of an entity. */
  readonly maxValues: number;
  readonly entityBytes: number;
  /** Most segments that statements of an entity are kept of. */
  readonly segments: number;
}

/** The statements that were kept before the batch. */
export interface SegmentsKept {
  /** Of how many segments, for each entity that has any. */
  readonly counts: ReadonlyMap<EntityId, number>;
  /** Of which segments, for any of these entities. */
  mentioned(ids: readonly EntityId[]): Promise<ReadonlySet<string>>;
}

/** Looks whether messages of a batch would pass a limit. What an entity has already, and what makes it smaller, is never forbidden. */
export class LimitCheck {
  readonly #limits: PlanLimits;
  readonly #kept: SegmentsKept;
  /** The draft made last, and of what: many messages in a row may ask for the same merge. */
  #united: { readonly of: string; readonly draft: Draft } | undefined;

  constructor(limits: PlanLimits, kept: SegmentsKept) {
    this.#limits = limits;
    this.#kept = kept;
  }

  /** What forbids a message that names these entities; undefined: nothing. */
  async reached(
    named: readonly Component[],
    message: Message,
    document: EntityDocument,
  ): Promise<LimitReason | undefined> {
    const { maxValues, entityBytes } = this.#limits;
    const draft = this.#draftOf(named);
    const joins = named.length > 1;
    if ((joins || draft.lacks(document.identities)) && draft.valuesWith(document.identities) > maxValues) {
      return "too_many_values";
    }
    const bytes = draft.bytesWith(document, entityBytes);
    if (bytes > entityBytes && (joins || bytes > draft.bytes)) return "entity_too_large";
    return (await this.#hasTooManySegments(named, message)) ? "too_many_segments" : undefined;
  }

  #draftOf(named: readonly Component[]): Draft {
    if (named.length < 2) return Component.unitedDraft(named);
    const of = named.map(({ version }) => version).join();
    if (this.#united?.of !== of) this.#united = { of, draft: Component.unitedDraft(named) };
    return this.#united.draft;
  }

  async #hasTooManySegments(named: readonly Component[], message: Message): Promise<boolean> {
    const said = segmentsNamedIn(message);
    if (said.length === 0 && named.length < 2) return false;
    const news = new Set([...named.flatMap(({ segments }) => [...segments]), ...said]);
    const ids = named.flatMap(idsOf);
    const kept = ids.reduce((sum, id) => sum + (this.#kept.counts.get(id) ?? 0), 0);
    if (kept + news.size <= this.#limits.segments) return false;

    const after = await this.#sizeOf(ids, news);
    if (after <= this.#limits.segments) return false;
    const before = await Promise.all(named.map((one) => this.#sizeOf(idsOf(one), one.segments)));
    return after > Math.max(0, ...before);
  }

  /** Number of segments that are kept for any of these entities, or are among the others. */
  async #sizeOf(ids: readonly EntityId[], others: ReadonlySet<string>): Promise<number> {
    const kept = await this.#kept.mentioned(ids);
    let size = kept.size;
    for (const id of others) if (!kept.has(id)) size += 1;
    return size;
  }
}

/** Ids of everything that is one entity by now. */
function idsOf(component: Component): EntityId[] {
  return [component, ...component.absorbed].map(({ id }) => id);
}
