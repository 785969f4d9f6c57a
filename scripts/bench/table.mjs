// The result as a Markdown table.
const HEAD = ["part", "what", "unit", "service", "compared with", "its figure", "ratio"];

/**
 * Returns a line of the result: the figures of the service and of its peer. `more`: more is better, as for a rate;
 * otherwise less is better, as for a cost. The ratio is above 1 if the service is better, and null if the run is too
 * short for the clock.
 */
export function line(what, unit, service, peer, other, { more = false } = {}) {
  const ratio = more ? service / other : other / service;
  return { what, unit, service, peer, other, ratio: Number.isFinite(ratio) && ratio > 0 ? ratio : null };
}

/** Returns the lines as a table. */
export function tableOf(lines) {
  const cells = lines.map((one) => [
    one.part,
    one.what,
    one.unit,
    figure(one.service),
    one.peer,
    figure(one.other),
    ratioText(one.ratio),
  ]);
  const widths = HEAD.map((word, i) => Math.max(word.length, ...cells.map((row) => row[i].length)));
  const isNumber = (i) => [3, 5, 6].includes(i);
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
