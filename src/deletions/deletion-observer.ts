/** Told what happens to deletions, for `/metrics`. */
export interface DeletionObserver {
  /** A request is complete, so many ms after it was accepted. */
  completed(tookMs: number): void;
  /** An attempt failed: `profile`, `verified`, `key`, or the name of a target. */
  failed(stage: string): void;
}

export const noObserver: DeletionObserver = { completed: () => {}, failed: () => {} };
