/** Lets work that shares a name run one after the other, in the order in which it came. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` once everything that came earlier under one of these names has ended. */
  async take<T>(names: Iterable<string>, work: () => Promise<T>): Promise<T> {
    const mine = new Set(names);
    const before = new Set<Promise<void>>();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    for (const name of mine) {
      const last = this.#last.get(name);
      if (last !== undefined) before.add(last);
      this.#last.set(name, ended);
    }
    try {
      await Promise.all(before);
      return await work();
    } finally {
      for (const name of mine) if (this.#last.get(name) === ended) this.#last.delete(name);
      end();
    }
  }
}
