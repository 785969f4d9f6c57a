import { callOf, usageOf } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

/** For a script without arguments but `--help` and `--version`: answers these and ends with 0, or ends with 2 at any other argument. */
export function noArguments(name, description) {
  const args = process.argv.slice(2);
  answerHelp(args, { call: usageOf(name), description });
  if (args.length > 0) {
    process.stderr.write(
      `${callOf(name)} takes no argument but --help and --version; settings are variables: docs/settings.md\n`,
    );
    process.exit(2);
  }
}
