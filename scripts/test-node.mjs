// npm run test:node: runs the tests of the embedded engine on several versions of Node, one after another. Run by hand.
// The programs of Node come from npm and stay in a cache folder of this user; remove it to get newer ones.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
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

const summaries = [];
let failed = false;
for (const version of named.length > 0 ? named : VERSIONS) {
  const program = nodeOf(version);
  process.stdout.write(`== Node ${version}\n`);
  const { code, summary } = await test(program);
  summaries.push(`Node ${version}: ${summary}`);
  failed ||= code !== 0;
}
process.stdout.write(`${summaries.join("\n")}\n`);
process.exit(failed ? 1 : 0);

/** Returns the program of this version; installs it if it is missing. */
function nodeOf(version) {
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const folder = join(cache, "entity-metrics", `node-${version}`);
  const program = join(folder, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  process.stdout.write(`Installing ${name}@${version} into ${folder}\n`);
  const npm = [
    "install",
    "--prefix",
    folder,
    "--no-save",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  const { status, error, stdout, stderr } = runNpm([...npm, `${name}@${version}`], { cwd: folder });
  if (status === 0 && existsSync(program)) return program;
  process.stderr.write(`${name}@${version} cannot be installed: ${error?.message ?? `${stdout}${stderr}`.trim()}\n`);
  process.exit(1);
}

/** Runs `npm test` with this program, without servers; resolves with its exit code and its last line. */
function test(program) {
  const own = Object.entries(process.env).filter(([name]) => !/^TEST_|^REQUIRE_ENGINES$/.test(name));
  const PATH = `${dirname(program)}${delimiter}${process.env.PATH}`;
  const child = spawn(program, [join(root, "scripts/test.mjs"), ...rest], {
    cwd: root,
    env: { ...Object.fromEntries(own), PATH },
    stdio: ["inherit", "pipe", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  let summary = "it did not end";
  child.stdout.on("data", (chunk) => {
    process.stdout.write(chunk);
    summary = /(\d+ passed, \d+ failed)\n$/.exec(chunk.toString())?.[1] ?? summary;
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, summary })));
}
