import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./source-tree.js";

/** A command block of a page. */
export interface CommandBlock {
  readonly page: string;
  readonly line: number;
  readonly script: string;
  /** Blocks with a name are run by a test of their own, `never` ones not at all; undefined: pasted in order. */
  readonly run: string | undefined;
  /** Language and text of the output shown right below, if any. `…` in JSON matches any text. */
  readonly answer: { readonly form: "json" | "text"; readonly text: string } | undefined;
}

/** README.md, PERFORMANCE.md and every page of docs. */
export const pages: readonly string[] = [
  "README.md",
  "PERFORMANCE.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`),
];

export const pageText = (page: string): string => readFileSync(join(root, page), "utf8");

/** Every `sh` block of a page, in order. */
export function commandBlocks(page: string): CommandBlock[] {
  const text = pageText(page);
  const blocks = /^```sh(?: run=(\w+))?\n([\s\S]*?)^```\n(?:\n```(json|text)\n([\s\S]*?)^```)?/gm;
  return [...text.matchAll(blocks)].map((match) => {
    const [, run, script = "", form, shown = ""] = match;
    return {
      page,
      line: text.slice(0, match.index).split("\n").length,
      script,
      run,
      answer: form === undefined ? undefined : { form: form as "json" | "text", text: shown },
    };
  });
}
