import type { BatchMessage } from "./batch-message.js";
import { Component, type United } from "./component.js";
import type { EntityDocument } from "./entity-document.js";
import { segmentsNamedIn } from "./message.js";

export type LimitReason = "too_many_values" | "entity_too_large" | "merge_too_large" | "too_many_segments";

export interface PlanLimits {
  /** Most bytes of a profile's document. */
  readonly entityBytes: number;
  /** Most segments that statements of a profile are kept of. */
  readonly segments: number;
}

/** Looks whether messages of a batch would pass a limit. What a profile has already, and what makes it smaller, is never forbidden. */
export class LimitCheck {
  readonly #limits: PlanLimits;
  /** The union made last, and of what: many messages in a row may ask for the same merge. */
  #united: { readonly of: string; readonly drafts: United } | undefined;

  constructor(limits: PlanLimits) {
    this.#limits = limits;
  }

  /** What forbids a message that names these profiles; undefined: nothing. */
  reached(
    named: readonly Component[],
    { table, message }: BatchMessage,
    document: EntityDocument,
  ): LimitReason | undefined {
    const { entityBytes, segments } = this.#limits;
    const { draft, memberships } = this.#drafts(named);
    const merges = named.length > 1;
    if ((merges || draft.lacks(document.identities)) && draft.valuesWith(document.identities) > table.maxValues) {
      return "too_many_values";
    }
    const bytes = draft.bytesWith(document, entityBytes);
    if (bytes > entityBytes && (merges || bytes > draft.bytes)) return "entity_too_large";
    const size = memberships.sizeWith(segmentsNamedIn(message));
    const before = Math.max(0, ...named.map((one) => one.segments));
    return size > segments && size > before ? "too_many_segments" : undefined;
  }

  #drafts(named: readonly Component[]): United {
    if (named.length < 2) return Component.united(named);
    const of = named.map(({ version }) => version).join();
    if (this.#united?.of !== of) this.#united = { of, drafts: Component.united(named) };
    return this.#united.drafts;
  }
}
