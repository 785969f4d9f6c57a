import { callOf, usageOf } from "./set-up.mjs";
import { answerHelp } from "./usage.mjs";

/**
 * For a script that takes only `--help` and `--version`: answers them with exit code 0; any other argument ends with 2.
 */
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
