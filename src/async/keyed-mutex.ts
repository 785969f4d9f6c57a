/** Runs work with a common key sequentially, in order of arrival. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` after all earlier work under one of these keys has ended. */
  async run<T>(keys: Iterable<string>, work: () => Promise<T>): Promise<T> {
    const unique = new Set(keys);
    const before = new Set<Promise<void>>();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    for (const key of unique) {
      const last = this.#last.get(key);
      if (last !== undefined) before.add(last);
      this.#last.set(key, ended);
    }
    try {
      await Promise.all(before);
      return await work();
    } finally {
      for (const key of unique) if (this.#last.get(key) === ended) this.#last.delete(key);
      end();
    }
  }
}
