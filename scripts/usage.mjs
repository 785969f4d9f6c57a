// Help and version of the scripts, in the form of commander, which the commands use.
import { version } from "./set-up.mjs";

/** Width of a line of help, in columns. */
const COLUMNS = 80;

/**
 * Ends the process with 0 after writing the text for `--help`, `-h` or `--version`; returns if `args` contains none of
 * them. `options` are pairs of a flag and its meaning.
 */
export function answerHelp(args, { call, description, options = [], notes }) {
  if (args.includes("--help") || args.includes("-h")) end(help(call, description, options, notes));
  if (args.includes("--version")) end(`${version()}\n`);
}

function help(call, description, options, notes) {
  const all = [...options, ["--version", "version of entity-metrics"], ["-h, --help", "display help for command"]];
  const width = Math.max(...all.map(([flag]) => flag.length));
  const lines = all.map(([flag, meaning]) => {
    const [first, ...rest] = wrapped(meaning, COLUMNS - width - 4);
    return [`  ${flag.padEnd(width)}  ${first}`, ...rest.map((line) => " ".repeat(width + 4) + line)].join("\n");
  });
  const end = notes === undefined ? "" : `\n${notes}\n`;
  return `Usage: ${call}\n\n${wrapped(description, COLUMNS).join("\n")}\n\nOptions:\n${lines.join("\n")}\n${end}`;
}

function wrapped(text, columns) {
  return text.match(new RegExp(`\\S.{0,${columns - 1}}(?= |$)`, "g"));
}

function end(text) {
  // Ignore a closed pipe, as of `head`.
  process.stdout.on("error", () => {});
  process.stdout.write(text);
  process.exit(0);
}
