import type { DeletionInput } from "../../client/client.js";
import type { Tables } from "../tables.js";
import type { TypedIdentity } from "./identity-form.js";

/** Identities of a file, and the numbers of the lines that contain none. */
export interface IdentityLines {
  readonly items: readonly DeletionInput[];
  readonly rejected: readonly number[];
}

/**
 * Reads identities: NDJSON of `{ table, field, value }`; CSV with the columns `value` and, optionally, `table` and
 * `field`, or with the names of identity fields; otherwise one value a line. `chosen` has the table and field of lines
 * that name none.
 */
export function identityLines(text: string, chosen: Omit<TypedIdentity, "value">, tables: Tables): IdentityLines {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const read = readerOf(lines[0] ?? "", chosen, tables);
  const items: DeletionInput[] = [];
  const rejected: number[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "" || (index === 0 && read.hasHeader)) continue;
    const item = read.item(line);
    if (item === undefined) rejected.push(index + 1);
    else items.push(item);
  }
  return { items, rejected };
}

interface LineReader {
  readonly hasHeader: boolean;
  item(line: string): DeletionInput | undefined;
}

function readerOf(first: string, chosen: Omit<TypedIdentity, "value">, tables: Tables): LineReader {
  if (first.trimStart().startsWith("{")) return { hasHeader: false, item: (line) => jsonItem(line, chosen) };
  const names = cellsOf(first).map((name) => name.trim());
  const fields = names.filter((name) => tables[chosen.table]?.includes(name));
  if (!names.includes("value") && fields.length === 0)
    return { hasHeader: false, item: (line) => ({ ...chosen, value: line.trim() }) };
  const at = (cells: readonly string[], name: string) => cells[names.indexOf(name)]?.trim() || undefined;
  return {
    hasHeader: true,
    item(line) {
      const cells = cellsOf(line);
      const table = at(cells, "table") ?? chosen.table;
      if (names.includes("value")) return itemOf(table, at(cells, "field") ?? chosen.field, at(cells, "value"));
      const field = fields.find((name) => at(cells, name) !== undefined);
      return field === undefined ? undefined : itemOf(table, field, at(cells, field));
    },
  };
}

function itemOf(table: unknown, field: unknown, value: unknown): DeletionInput | undefined {
  const isText = typeof table === "string" && typeof field === "string" && typeof value === "string" && value !== "";
  return isText ? { table, field, value } : undefined;
}

function jsonItem(line: string, chosen: Omit<TypedIdentity, "value">): DeletionInput | undefined {
  try {
    const { table, field, value } = { ...chosen, ...JSON.parse(line) };
    return itemOf(table, field, value);
  } catch {
    return undefined;
  }
}

/** The cells of a line of CSV; a quoted cell may contain commas and doubled quotes. */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = ""]) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"'),
  );
}
