// The result, as a table that can be pasted.
const HEAD = ["part", "what", "unit", "service", "beside", "its figure", "ratio", "before"];

/**
 * A line of the result: what the service takes, and what stands beside it. `more`: more is better, as of a rate; else less is, as of a cost.
 * The ratio is above 1 where the service is better. A run that is too short for the clock has none.
 */
export function line(what, unit, service, beside, other, { more = false } = {}) {
  const ratio = more ? service / other : other / service;
  return { what, unit, service, beside, other, ratio: Number.isFinite(ratio) && ratio > 0 ? ratio : null };
}

/** A line by which it is found in an earlier run. */
export function nameOfLine({ part, what, unit, beside }) {
  return JSON.stringify([part, what, unit, beside]);
}

/** The lines as a table. `before` holds the ratios of an earlier run by `nameOfLine`. */
export function tableOf(lines, before) {
  const cells = lines.map((one) => [
    one.part,
    one.what,
    one.unit,
    figure(one.service),
    one.beside,
    figure(one.other),
    ratioText(one.ratio),
    ratioText(before.get(nameOfLine(one))),
  ]);
  const widths = HEAD.map((word, i) => Math.max(word.length, ...cells.map((row) => row[i].length)));
  const isNumber = (i) => [3, 5, 6, 7].includes(i);
  const pad = (row) =>
    `| ${row.map((cell, i) => (isNumber(i) ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join(" | ")} |`;
  const rule = `|${widths.map((width, i) => (isNumber(i) ? `${"-".repeat(width + 1)}:` : "-".repeat(width + 2))).join("|")}|`;
  return [pad(HEAD), rule, ...cells.map(pad)].join("\n");
}

function figure(number) {
  return Math.abs(number) >= 1000 ? Math.round(number).toLocaleString("en") : number.toPrecision(3);
}

function ratioText(ratio) {
  return typeof ratio === "number" ? `${ratio.toPrecision(3)}x` : "-";
}
