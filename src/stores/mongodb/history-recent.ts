import type { PendingDocument } from "./history-documents.js";

/** What is remembered at most, bytes. */
const MOST_BYTES = 32 * 1_048_576;

/** A document without what is sealed, bytes. */
const AROUND_BYTES = 500;

/** Messages that this process has appended and not settled yet, so that it need not read them again. */
export class RecentMessages {
  readonly #messages = new Map<string, PendingDocument>();
  /** Appends of which every message is remembered, and how many those are. */
  readonly #whole = new Map<string, number>();
  #bytes = 0;

  add(append: string, messages: readonly PendingDocument[]): void {
    for (const message of messages) {
      this.#remove(message._id);
      this.#messages.set(message._id, message);
      this.#bytes += bytesOf(message);
    }
    this.#whole.set(append, messages.length);
    for (const id of this.#messages.keys()) {
      if (this.#bytes <= MOST_BYTES) return;
      this.#remove(id);
    }
  }

  /** Hands out those that are remembered, and forgets them. `isWhole` says of an append whether they are all of it. */
  take(ids: readonly string[]): { messages: PendingDocument[]; isWhole(append: string): boolean } {
    const messages = ids.flatMap((id) => this.#messages.get(id) ?? []);
    const counts = new Map<string, number>();
    for (const { append } of messages) counts.set(append, (counts.get(append) ?? 0) + 1);
    const whole = new Set(
      [...counts].filter(([append, count]) => this.#whole.get(append) === count).map(([append]) => append),
    );
    for (const { _id } of messages) this.#remove(_id);
    return { messages, isWhole: (append) => whole.has(append) };
  }

  #remove(id: string): void {
    const message = this.#messages.get(id);
    if (message === undefined) return;
    this.#messages.delete(id);
    this.#whole.delete(message.append);
    this.#bytes -= bytesOf(message);
  }
}

function bytesOf({ sealed }: PendingDocument): number {
  return AROUND_BYTES + sealed.position;
}
