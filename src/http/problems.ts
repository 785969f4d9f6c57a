import { type Problem, ServiceError } from "../errors.js";

/** As many problems as an answer names. */
const NAMED = 100;

/** What is wrong with a request, problem by problem; the first hundred are named. */
export class Problems {
  readonly #named: Problem[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Whether as many are noted as will be named: nothing is gained by looking further. */
  get full(): boolean {
    return this.#count >= NAMED;
  }

  add(code: string, path: string, message: string): void {
    this.#count += 1;
    if (this.#named.length < NAMED) this.#named.push({ code, path, message });
  }

  /** Refuses the request when there is a problem; the message may be made from the first one. */
  refuseIfAny(message: string | ((first: Problem) => string)): void {
    const [first] = this.#named;
    if (first === undefined) return;
    const text = typeof message === "string" ? message : message(first);
    throw new ServiceError("invalid", text, { problems: this.#named });
  }
}
