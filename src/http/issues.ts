import { ServiceError, type ValidationIssue } from "../errors.js";

/** As many issues as an answer names. */
const NAMED = 100;

/** What is wrong with a request, issue by issue; the first hundred are named. */
export class Issues {
  readonly #named: ValidationIssue[] = [];
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

  /** Refuses the request when there is an issue; the message may be made from the first one. */
  throwIfAny(message: string | ((first: ValidationIssue) => string)): void {
    const [first] = this.#named;
    if (first === undefined) return;
    const text = typeof message === "string" ? message : message(first);
    throw new ServiceError("invalid", text, { issues: this.#named });
  }
}
