import { spawnSync } from "node:child_process";
import { expect } from "chai";
import type { CommandBlock } from "./readme.js";

const marker = "=== block ";

/** Pastes blocks into one shell in this folder, and compares each output with its page. */
export function paste(blocks: readonly CommandBlock[], dir: string, address: string, environment: NodeJS.ProcessEnv) {
  const script = blocks
    .map(({ script }, index) => `printf '\\n${marker}${index}\\n'\n${at(address, script)}`)
    .join("\n");
  const env = { ...environment, ENTITY_METRICS_URL: address };
  const { status, stdout, stderr } = spawnSync("sh", ["-ec", script], { cwd: dir, env, encoding: "utf8" });
  const outputs = stdout.split(new RegExp(`^${marker}\\d+\\n`, "m")).slice(1);
  const placeOf = (block: CommandBlock | undefined) => `${block?.page} line ${block?.line}`;
  expect(status, `${placeOf(blocks[outputs.length - 1])}: ${outputs.at(-1)}\n${stderr}`).to.equal(0);
  blocks.forEach((block, index) => {
    const output = outputs[index] ?? "";
    if (!/"status": [45]\d\d/.test(block.answer?.text ?? "")) {
      expect(output, placeOf(block)).to.not.match(/"status":[45]\d\d/);
    }
    if (block.answer?.form === "json") expectLike(JSON.parse(output), JSON.parse(block.answer.text), placeOf(block));
    if (block.answer?.form === "text") expectLike(words(output), words(block.answer.text), placeOf(block));
  });
}

/** Commands for a service at this address, in place of the usual port. */
function at(address: string, script: string): string {
  return script.replaceAll("http://127.0.0.1:8080", address);
}

/** The words of a text and the white space between them. */
function words(text: string): string[] {
  return text.trim().split(/(\s+)/);
}

/** Equal, but where the text shown is `…`. */
function expectLike(actual: unknown, shown: unknown, where: string): void {
  if (shown === "…") return;
  if (Array.isArray(shown) && Array.isArray(actual)) {
    expect(actual.length, where).to.equal(shown.length);
    shown.forEach((item, index) => {
      expectLike(actual[index], item, `${where}[${index}]`);
    });
    return;
  }
  if (typeof shown === "object" && shown !== null && typeof actual === "object" && actual !== null) {
    expect(Object.keys(actual), where).to.have.members(Object.keys(shown));
    for (const [name, value] of Object.entries(shown))
      expectLike((actual as Record<string, unknown>)[name], value, `${where}.${name}`);
    return;
  }
  expect(actual, where).to.deep.equal(shown);
}
