/** Lets pieces of work run at the same time while together they weigh at most `most`; a heavier one runs alone. First come, first served. */
export class Room {
  readonly #most: number;
  readonly #waiting: { readonly weight: number; readonly begin: () => void }[] = [];
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async take<T>(weight: number, work: () => Promise<T>): Promise<T> {
    const own = Math.min(weight, this.#most);
    if (this.#waiting.length > 0 || !this.#fits(own)) {
      await new Promise<void>((begin) => this.#waiting.push({ weight: own, begin }));
    } else this.#taken += own;
    try {
      return await work();
    } finally {
      this.#taken -= own;
      this.#letIn();
    }
  }

  #fits(weight: number): boolean {
    return this.#taken + weight <= this.#most;
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.weight); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#taken += next.weight;
      next.begin();
    }
  }
}
