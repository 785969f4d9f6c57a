/** A call that waits for its group. */
interface Waiting<T, R> {
  readonly items: readonly T[];
  readonly weight: number;
  resolve(result: R): void;
  reject(error: unknown): void;
}

interface GroupOptions<T> {
  /** Maximum weight of a group's items; a single call may exceed it. */
  readonly most: number;
  /** Weight of an item; 1 if absent. */
  weightOf?(item: T): number;
  /** Maximum concurrent groups; calls that arrive during them wait and form the next group. */
  readonly atOnce: number;
  /** Whether a group waits for all calls of this round of the event loop, so that the first call is not sent alone. */
  readonly afterRound?: boolean;
  /** Returns whether one call may have caused an error, so that the others deserve a retry; no retry if absent. */
  isOfOneCall?(error: unknown): boolean;
  /**
   * Maximum wait of a call; unlimited if absent. A call that waits longer rejects with `error()` and is never executed.
   */
  readonly deadline?: { readonly ms: number; error(): Error };
}

/**
 * Groups concurrent calls, so that they share a transaction, its sync, or a round trip (group commit). Every call sees
 * all writes before it. A group that fails because of one call is retried call by call, one at a time, so that the
 * others succeed and no more than `atOnce` run.
 */
export function groupedCalls<T, R>(
  work: (items: readonly T[]) => Promise<R>,
  { most, weightOf = () => 1, atOnce, afterRound = false, isOfOneCall = () => false, deadline }: GroupOptions<T>,
): (items: readonly T[]) => Promise<R> {
  const queue: Waiting<T, R>[] = [];
  let underWay = 0;
  let isDue = false;

  function begin(): void {
    if (!afterRound) next();
    else if (!isDue && underWay < atOnce) {
      isDue = true;
      setImmediate(() => {
        isDue = false;
        next();
      });
    }
  }

  function next(): void {
    while (underWay < atOnce && queue.length > 0) {
      underWay += 1;
      void run(nextGroup()).finally(() => {
        underWay -= 1;
        next();
      });
    }
  }

  function nextGroup(): Waiting<T, R>[] {
    let weight = queue[0]?.weight ?? 0;
    let calls = 1;
    for (let next = queue[calls]; next !== undefined && weight + next.weight <= most; next = queue[calls]) {
      weight += next.weight;
      calls += 1;
    }
    return queue.splice(0, calls);
  }

  async function run(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const result = await work(group.flatMap(({ items }) => items));
      for (const { resolve } of group) resolve(result);
    } catch (error) {
      if (group.length > 1 && isOfOneCall(error)) for (const call of group) await run([call]);
      else for (const { reject } of group) reject(error);
    }
  }

  function dropUnlessBegun(call: Waiting<T, R>, error: () => Error): void {
    const at = queue.indexOf(call);
    if (at < 0) return;
    queue.splice(at, 1);
    call.reject(error());
  }

  return async (items) => {
    const weight = items.reduce((sum, item) => sum + weightOf(item), 0);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<R>((resolve, reject) => {
        const call = { items, weight, resolve, reject };
        if (deadline !== undefined) timer = setTimeout(dropUnlessBegun, deadline.ms, call, deadline.error);
        queue.push(call);
        begin();
      });
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Groups reads by key: each call gets the values of its own keys. */
export function groupedReads<K, V>(
  read: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  options: GroupOptions<K>,
): (keys: readonly K[]) => Promise<Map<K, V>> {
  const grouped = groupedCalls(read, { ...options, afterRound: true });
  return async (keys) => {
    const values = new Map<K, V>();
    if (keys.length === 0) return values;
    const found = await grouped(keys);
    for (const key of keys) {
      const value = found.get(key);
      if (value !== undefined) values.set(key, value);
    }
    return values;
  };
}

/** The values that one read returned, and the keys that are left to read. Each read decides at least one key. */
export interface ReadPage<K, V> {
  readonly found: ReadonlyMap<K, V>;
  readonly left: readonly K[];
}

/**
 * Groups reads of one key each whose values may be large. A group is read in pages, and a call resolves with the page
 * that has its key, so a group holds one page at a time.
 */
export function pagedReads<K, V>(
  read: (keys: readonly K[]) => Promise<ReadPage<K, V>>,
  options: GroupOptions<unknown>,
): (key: K) => Promise<V | undefined> {
  type Call = { readonly key: K; give(value: V | undefined): void };
  async function readAll(calls: readonly Call[]): Promise<void> {
    for (let waiting = calls; waiting.length > 0; ) {
      const { found, left } = await read([...new Set(waiting.map(({ key }) => key))]);
      const isLeft = new Set(left);
      for (const { key, give } of waiting) if (!isLeft.has(key)) give(found.get(key));
      waiting = waiting.filter(({ key }) => isLeft.has(key));
    }
  }
  const grouped = groupedCalls(readAll, { ...options, afterRound: true });
  return (key) => new Promise((give, reject) => void grouped([{ key, give }]).catch(reject));
}

/** Groups erasing by id and the reads that verify it: concurrent calls of each share one. */
export function groupedErasure({
  erase,
  held,
}: {
  erase(ids: readonly string[]): Promise<void>;
  /** Returns the ids of which something is held. */
  held(ids: readonly string[]): Promise<readonly string[]>;
}): { erase(ids: readonly string[]): Promise<void>; holds(ids: readonly string[]): Promise<boolean> } {
  const grouped = groupedCalls(erase, ERASURES);
  const read = groupedReads(
    async (ids: readonly string[]) => new Map((await held(ids)).map((id) => [id, true])),
    ERASURES,
  );
  return {
    erase: async (ids) => (ids.length === 0 ? undefined : grouped(ids)),
    holds: async (ids) => (await read(ids)).size > 0,
  };
}

const ERASURES = { most: 1_000, atOnce: 2, afterRound: true };
