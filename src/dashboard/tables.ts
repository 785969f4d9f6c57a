/** Identity fields by table, in the order of the configuration. */
export type Tables = Readonly<Record<string, readonly string[]>>;

/**
 * Returns the tables that the page was served with. A key with the bound `by` may use that field alone.
 */
export function readTables(by?: string): Tables {
  const text = document.getElementById("page")?.dataset.tables ?? "{}";
  const tables = JSON.parse(text) as Tables;
  if (by === undefined) return tables;
  const usable = Object.entries(tables).filter(([, fields]) => fields.includes(by));
  return Object.fromEntries(usable.map(([table]) => [table, [by]]));
}
