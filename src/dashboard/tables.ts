/** Identity fields by table, in the order of the configuration. */
export type Tables = Readonly<Record<string, readonly string[]>>;

/** The tables of the service, which the page was served with. */
export function readTables(): Tables {
  const text = document.getElementById("page")?.dataset.tables ?? "{}";
  return JSON.parse(text) as Tables;
}
