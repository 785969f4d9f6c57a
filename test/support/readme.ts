import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./source-tree.js";

/** A command block of README.md. */
export interface CommandBlock {
  readonly line: number;
  readonly script: string;
  /** `start` and `servers` are run in another way than pasted, `never` not at all; undefined: pasted. */
  readonly run: string | undefined;
  /** The JSON that README shows right below as the answer, if it does. `…` in it stands for anything. */
  readonly answer: string | undefined;
}

export const readme = readFileSync(join(root, "README.md"), "utf8");

/** Every `sh` block, in order. */
export function commandBlocks(): CommandBlock[] {
  return [...readme.matchAll(/^```sh(?: run=(\w+))?\n([\s\S]*?)^```\n(?:\n```json\n([\s\S]*?)^```)?/gm)].map(
    (match) => ({
      line: readme.slice(0, match.index).split("\n").length,
      run: match[1],
      script: match[2] ?? "",
      answer: match[3],
    }),
  );
}
