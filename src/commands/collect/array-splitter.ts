import type { Line } from "../../formats/line-splitter.js";

/**
 * Cuts a JSON array into its elements, as its text comes in, in memory of one element. Each comes as one line of JSON, with
 * the number of the line on which it begins. Elements are told apart, not checked.
 */
export class ArraySplitter {
  #line = 1;
  /** Brackets that are open: 1 between elements and in those that are not objects or arrays. */
  #depth = 0;
  #ended = false;
  #inString = false;
  #escaped = false;
  /** The beginning of an element, and its line, while one is under way. */
  #element: { text: string; readonly line: number } | undefined;

  /** The elements that end in this text. Throws when there is something beside the array. */
  push(text: string): Line[] {
    const elements: Line[] = [];
    let start = 0;
    for (let i = 0; i < text.length; i += 1) {
      const char = text[i] as string;
      if (char === "\n") this.#line += 1;
      if (this.#inString) this.#passString(char);
      else if (BLANK.test(char)) continue;
      else if (this.#depth === 0) this.#open(char);
      else if (this.#depth === 1 && (char === "," || char === "]")) {
        this.#take(text.slice(start, i), elements);
        if (char === "]") {
          this.#depth = 0;
          this.#ended = true;
        }
      } else {
        if (this.#element === undefined) {
          this.#element = { text: "", line: this.#line };
          start = i;
        }
        if (char === '"') this.#inString = true;
        else if (char === "[" || char === "{") this.#depth += 1;
        else if (char === "]" || char === "}") this.#depth -= 1;
      }
    }
    if (this.#element !== undefined) this.#element.text += text.slice(start);
    return elements;
  }

  /** Whether the array was whole. */
  get ended(): boolean {
    return this.#ended;
  }

  #open(char: string): void {
    if (char !== "[" || this.#ended) throw new Error("There is something beside the array");
    this.#depth = 1;
  }

  #passString(char: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (char === "\\") this.#escaped = true;
    else if (char === '"') this.#inString = false;
  }

  #take(rest: string, elements: Line[]): void {
    if (this.#element === undefined) return;
    const text = `${this.#element.text}${rest}`.replace(/[\r\n]+/g, " ").trim();
    elements.push({ number: this.#element.line, text });
    this.#element = undefined;
  }
}

const BLANK = /\s/;
