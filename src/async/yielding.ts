/** Work of the whole process before the network is served, ms. */
const WORK_MS = 5;

/** Pause of work while new connections arrive in each round of the event loop, ms. */
const DEFERRED_MS = 10;

// Measured with 64 concurrent reads of profiles of 1 MB: /health took up to 0.5 s, and up to 3 s when each read used
// `setImmediate`, because a round then continues all of them. Without the order of the two lists 40 % of the reads were
// refused for memory.
/** Work that has started and is paused. */
const started: (() => void)[] = [];
const waiting: (() => void)[] = [];
/** Begin of the current round of the event loop; undefined while no work has used it. */
let roundBegan: number | undefined;
let hasAccepted = false;
let deferredSince: number | undefined;

/**
 * Awaited between two steps of long work. After `WORK_MS` of work, of all requests together, the network is served;
 * then one piece of work continues in each round of the event loop, in the order of the calls. So the time without
 * network is `WORK_MS` and one step, or one step of each piece if many call this at once.
 */
export function yieldWhenDue(): Promise<void> | undefined {
  beginRound();
  if (performance.now() - (roundBegan as number) < WORK_MS) return undefined;
  return new Promise((resolve) => started.push(resolve));
}

/**
 * Awaited before large work starts: it starts in a round of its own, when no started work is paused. Started work holds
 * memory, so one piece of large work runs after another.
 */
export function yieldToStarted(): Promise<void> {
  beginRound();
  return new Promise((resolve) => waiting.push(resolve));
}

/**
 * Reports that the event loop has accepted a connection. It accepts one per round, so work is paused while connections
 * arrive; otherwise each of many new connections would wait for a piece of work (measured: the last of 500 connections
 * was served after 4.2 s instead of 0.5 s).
 */
export function connectionAccepted(): void {
  hasAccepted = true;
}

function beginRound(): void {
  if (roundBegan !== undefined) return;
  roundBegan = performance.now();
  setImmediate(() => {
    roundBegan = undefined;
    if (!defersToConnections()) (started.shift() ?? waiting.shift())?.();
    if (started.length + waiting.length > 0) beginRound();
  });
}

function defersToConnections(): boolean {
  const now = performance.now();
  const defers = hasAccepted && now - (deferredSince ?? now) < DEFERRED_MS;
  deferredSince = defers ? (deferredSince ?? now) : undefined;
  hasAccepted = false;
  return defers;
}
