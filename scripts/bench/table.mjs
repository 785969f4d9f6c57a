// The result, as a table that can be pasted.
const HEAD = ["request", "bytes", "service", "rows in SQL", "Koa alone", "rows / service", "service / Koa"];

/** Lines of a table: one for each `{ label, bytes, service, rows, limit }`, costs in ms. */
export function tableOf(results) {
  const lines = results.map(({ label, bytes, service, rows, limit }) => [
    label,
    String(bytes),
    costText(service),
    costText(rows),
    costText(limit),
    ratioText(rows, service),
    ratioText(service, limit),
  ]);
  const widths = HEAD.map((word, i) => Math.max(word.length, ...lines.map((line) => line[i].length)));
  const pad = (line) =>
    `| ${line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(" | ")} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [pad(HEAD), rule, ...lines.map(pad)].join("\n");
}

function costText(ms) {
  return ms.toPrecision(3);
}

/** A run that is too short for the clock has no ratio. */
function ratioText(a, b) {
  return a > 0 && b > 0 ? `${(a / b).toPrecision(3)}x` : "-";
}
