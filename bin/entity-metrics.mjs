#!/usr/bin/env node
// entity-metrics <command>: the programs of `npm start`, `npm run key` and so on, for a package that npm has installed.
import { version } from "../scripts/set-up.mjs";

const COMMANDS = {
  start: "runs the service",
  demo: "runs the service with synthetic data",
  key: "creates, lists and revokes API keys",
  collect: "sends files of messages",
  ingest: "writes points and counts from files",
  export: "prints everything that is stored about a person",
  erase: "requests the deletion of many people",
  receipt: "fetches and verifies receipts of deletions",
  backup: "copies the embedded stores, also of a running service",
  migrate: "copies the embedded stores to servers",
};

const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
const help = `Usage: entity-metrics <command> [options]

Commands:
${Object.entries(COMMANDS)
  .map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`)
  .join("\n")}

Options:
  --version   version of entity-metrics
  -h, --help  display help, also after a command
`;

const [name] = process.argv.slice(2);
// Ignore a closed pipe, as of `head`.
process.stdout.on("error", () => {});
if (name === "--help" || name === "-h") {
  process.stdout.write(help);
} else if (name === "--version") {
  process.stdout.write(`${version()}\n`);
} else if (name === undefined || !Object.hasOwn(COMMANDS, name)) {
  process.stderr.write(name === undefined ? help : `unknown command ${name} (--help shows more)\n`);
  process.exitCode = 2;
} else if (name === "start" || name === "demo") {
  process.argv.splice(2, 1);
  await import(`../scripts/${name}.mjs`);
} else {
  await import("../scripts/command.mjs");
}
