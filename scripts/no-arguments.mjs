/** For a script that takes `--help` alone: says `help` and ends with 0, or ends with 2 at any other argument. */
export function noArguments(name, help) {
  if (process.argv.includes("--help")) {
    process.stdout.write(`${name}\n\n${help}\n`);
    process.exit(0);
  }
  if (process.argv.length > 2) {
    process.stderr.write(`${name} takes no argument but --help; settings are variables: README.md, "Settings"\n`);
    process.exit(2);
  }
}
