/** Returns a table as CSV (RFC 4180). */
export function csvOf(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

/** A spreadsheet would run a text that begins like a formula, so such a text begins with an apostrophe. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const shown = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** Returns rows of objects as CSV, with a column for each field. */
export function csvOfRows(rows: readonly object[]): string {
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return csvOf([fields, ...rows.map((row) => fields.map((field) => (row as Record<string, unknown>)[field]))]);
}
