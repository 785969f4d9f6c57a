import { version } from "./set-up.mjs";

/** For a script that takes `--help` and `--version` alone: says what is asked for and ends with 0, or ends with 2 at any other argument. */
export function noArguments(name, help) {
  if (process.argv.includes("--help")) {
    process.stdout.write(`${name}\n\n${help}\n`);
    process.exit(0);
  }
  if (process.argv.includes("--version")) {
    process.stdout.write(`${version()}\n`);
    process.exit(0);
  }
  if (process.argv.length > 2) {
    process.stderr.write(
      `${name} takes no argument but --help and --version; settings are variables: README.md, "Settings"\n`,
    );
    process.exit(2);
  }
}
