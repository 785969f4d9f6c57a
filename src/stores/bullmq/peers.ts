import type { ChangeMessage } from "./change-message.js";

/**
 * How far each other process has been heard. Times are ms of one clock that only goes up.
 */
export class Peers {
  readonly #forgetMs: number;
  readonly #heard = new Map<string, { number: number; at: number }>();

  /** A process that was not heard for `forgetMs` is forgotten. */
  constructor(forgetMs: number) {
    this.#forgetMs = forgetMs;
  }

  /**
   * Whether this message follows the last one of its process, comes too late because a later one was heard, or shows that
   * announcements between them were missed.
   */
  hear({ process, number, content }: ChangeMessage, now: number): "next" | "late" | "gap" {
    const known = this.#heard.get(process);
    const isAnnouncement = "phase" in content;
    if (known === undefined) {
      this.#heard.set(process, { number, at: now });
      return "next";
    }
    known.at = now;
    if (isAnnouncement ? number <= known.number : number < known.number) return "late";
    const expected = isAnnouncement ? known.number + 1 : known.number;
    known.number = number;
    return number === expected ? "next" : "gap";
  }

  forget(now: number): void {
    for (const [process, { at }] of this.#heard) if (now - at > this.#forgetMs) this.#heard.delete(process);
  }
}
