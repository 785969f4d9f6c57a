import fc from "fast-check";
import { portThrough } from "../support/held-calls.js";

/** One of several that work at the same time, each one call to a port after the other. */
export interface Actor {
  readonly name: string;
  readonly work: () => Promise<void>;
}

/** Chooses the next call, given how many wait. */
export type Choice = (waiting: number) => number;

/**
 * Runs actors concurrently in a chosen order of their calls: each call waits until it is chosen, and none is chosen
 * before all other actors wait or have ended.
 */
export class Interleaving {
  readonly #waiting = new Map<string, () => void>();
  #running = 0;
  #changed = () => {};

  /** The port as this actor has it. */
  guard<T extends object>(actor: string, port: T): T {
    return portThrough(port, async (call) => {
      await this.turn(actor);
      return call();
    });
  }

  /** Runs all to their end; an actor that fails has died there. Returns the actor of each call, in order. */
  async run(actors: readonly Actor[], choose: Choice): Promise<string[]> {
    const order: string[] = [];
    for (const { work } of actors) {
      this.#running += 1;
      void work()
        .catch(() => {})
        .then(() => this.#stopped());
    }
    for (;;) {
      while (this.#running > 0) {
        await new Promise<void>((resolve) => {
          this.#changed = resolve;
        });
      }
      const names = [...this.#waiting.keys()].sort();
      const name = names[names.length > 1 ? choose(names.length) : 0];
      if (name === undefined) return order;
      order.push(name);
      const resume = this.#waiting.get(name);
      this.#waiting.delete(name);
      this.#running += 1;
      resume?.();
    }
  }

  /** Resolves when the actor is chosen. */
  turn(actor: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(actor, resolve);
      this.#stopped();
    });
  }

  #stopped(): void {
    this.#running -= 1;
    this.#changed();
  }
}

/** Runs `once` with every possible order of calls; returns their number. */
export async function everyOrder(once: (choose: Choice) => Promise<void>): Promise<number> {
  let orders = 0;
  for (let next: number[] | undefined = []; next !== undefined; orders += 1) {
    const made: { choice: number; of: number }[] = [];
    const given: readonly number[] = next;
    await once((of) => {
      const choice = given[made.length] ?? 0;
      made.push({ choice, of });
      return choice;
    });
    while (made.length > 0 && (made.at(-1)?.choice ?? 0) + 1 === made.at(-1)?.of) made.pop();
    const last = made.pop();
    next = last === undefined ? undefined : [...made.map(({ choice }) => choice), last.choice + 1];
  }
  return orders;
}

/** Numbers that choose an order, for `chosenBy`. */
export const ordersOfChance = fc.array(fc.nat(), { minLength: 100, maxLength: 100 });

export function chosenBy(numbers: readonly number[]): Choice {
  let made = 0;
  return (waiting) => (numbers[made++] ?? 0) % waiting;
}
