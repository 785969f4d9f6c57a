import { callOf, usageOf } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

/**
 * Returns the arguments, all of which are flags of `options`. Ends the process with 0 after answering `--help` or
 * `--version`, and with 2 at any other argument.
 */
export function readFlags(name, { description, options = [] }) {
  const args = process.argv.slice(2);
  answerHelp(args, { call: usageOf(name), description, options });
  const known = options.map(([flag]) => flag);
  if (args.every((arg) => known.includes(arg))) return args;
  const allowed = ["--help", "--version", ...known].join(", ");
  process.stderr.write(
    `${callOf(name)} takes no argument but ${allowed}; settings are environment variables: docs/settings.md\n`,
  );
  process.exit(2);
}
