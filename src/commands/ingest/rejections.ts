/** As many rejections are named one by one. */
const NAMED = 1000;

/** Lines of one file are fewer than this. */
const LINES = 2 ** 40;

/** Where a point came from, as one number: which file, and which line of it. */
export function origin(file: number, line: number): number {
  return file * LINES + line;
}

/** What is not written, each named by its file and line, in the order in which it is met. */
export class Rejections {
  readonly #files: readonly string[];
  #say: (line: string) => void = () => {};
  #count = 0;

  constructor(files: readonly string[]) {
    this.#files = files;
  }

  get count(): number {
    return this.#count;
  }

  /** From now on rejections are told to this. */
  sayBy(say: (line: string) => void): void {
    this.#say = say;
  }

  add(at: number, reason: string): void {
    this.#count += 1;
    if (this.#count <= NAMED) {
      this.#say(`${this.#files[Math.floor(at / LINES)]}:${at % LINES}: rejected: ${reason}`);
    } else if (this.#count === NAMED + 1) {
      this.#say(`more than ${NAMED} rejections; the rest are only counted`);
    }
  }
}
