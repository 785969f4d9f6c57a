/**
 * PORT. Single facts that are stored with the profiles, each under its own name: a text, or a number that never
 * decreases. All processes over the same stores share them, and restored data has its own. Each call sees every write
 * that resolved before it. Rejects as every store does: see `ToServiceError`.
 */
export interface Facts {
  /** Returns the text under this name; undefined if it was never set. */
  text(name: string): Promise<string | undefined>;
  /** Sets the text unless it is set. Resolves with the stored text, which is the same for all concurrent callers. */
  textOnce(name: string, text: string): Promise<string>;
  /**
   * Replaces the text if it still is `before` (undefined: not set). Resolves with whether it did, when the new text
   * survives a crash; a power cut may undo a replacement that `mayBeLost`. A call that rejects may have replaced it.
   */
  replaceText(name: string, before: string | undefined, text: string, mayBeLost?: boolean): Promise<boolean>;
  /** Returns the number under this name, 0 at first. */
  number(name: string): Promise<number>;
  /** Raises the number under this name to at least `number`. Safe to repeat. */
  raise(name: string, number: number): Promise<void>;
}
