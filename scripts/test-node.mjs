// npm run test:node: runs the tests of the embedded engine on several versions of Node, one after the other.
import { join } from "node:path";
import { root, runNpm } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

const VERSIONS = ["20", "24", "26"];

const args = process.argv.slice(2);
answerHelp(args, {
  call: "npm run test:node -- [options] [version...] [file...]",
  description: `Runs the tests of the embedded engine on Node ${VERSIONS.join(", ")}, or on the versions named.`,
  notes: `Further options go to npm test. Examples:
  npm run test:node
  npm run test:node -- 26 test/http/client-gone.test.ts`,
});
const named = args.filter((arg) => /^\d+(\.\d+){0,2}$/.test(arg));
const rest = args.filter((arg) => !named.includes(arg));
// Without servers.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^TEST_|^REQUIRE_ENGINES$/.test(name)));
const npmName = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

const failed = [];
for (const version of named.length > 0 ? named : VERSIONS) {
  process.stdout.write(`== Node ${version}\n`);
  const test = ["node", join(root, "scripts/test.mjs"), ...rest];
  const { status, signal } = runNpm(["exec", "--yes", `--package=${npmName}@${version}`, "--", ...test], {
    env,
    stdio: "inherit",
  });
  if (status !== 0) failed.push(version);
  if (signal !== null) break;
}
process.stdout.write(failed.length === 0 ? "passed on each Node\n" : `failed on Node ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
