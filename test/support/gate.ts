/** Holds work at one of its calls to a port, as a process is held that the machine gives no time, or that dies there. */
export class Gate {
  #left = Number.POSITIVE_INFINITY;
  #dead = false;
  #reached = () => {};
  #open: Promise<void> = Promise.resolve();
  #release = () => {};

  /** From now on the call after `calls` others waits. Resolves when it is reached. */
  arm(calls: number): Promise<void> {
    this.#left = calls;
    this.#dead = false;
    this.#open = new Promise((resolve) => {
      this.#release = resolve;
    });
    return new Promise((resolve) => {
      this.#reached = resolve;
    });
  }

  /** Lets the work go on. */
  release(): void {
    this.#left = Number.POSITIVE_INFINITY;
    this.#release();
  }

  /** The call that waits, and every later one, fails without being made. */
  kill(): void {
    this.#dead = true;
    this.release();
  }

  /** A new life. */
  reset(): void {
    this.#dead = false;
  }

  /** The port, behind this gate. */
  guard<T extends object>(port: T): T {
    const guarded = { ...port } as Record<string, unknown>;
    for (const [name, method] of Object.entries(port)) {
      if (typeof method !== "function") continue;
      guarded[name] = async (...args: unknown[]) => {
        await this.#pass();
        return method.apply(port, args) as unknown;
      };
    }
    return guarded as T;
  }

  async #pass(): Promise<void> {
    if (this.#left === 0) {
      this.#left = -1;
      this.#reached();
      await this.#open;
    } else if (this.#left > 0) this.#left -= 1;
    if (this.#dead) throw new Error("The process is dead");
  }
}
