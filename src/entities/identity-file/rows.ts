import { StartError } from "../../errors.js";
import { CsvReader, type CsvRecord } from "../../formats/csv.js";
import { DEFAULT_TABLE } from "../profile/checked-identity.js";
import { exchanged, type Header, itemColumns, repeatsHeader } from "./header.js";
import {
  checkedLine,
  type IdentityFile,
  type IdentityForm,
  type IdentityLine,
  isSurrounded,
  refusedLine,
} from "./identity-line.js";

/** Returns the cell of a row in a column, trimmed; empty if there is no such column. */
type CellOf = (name: string) => string;

interface RowForm {
  readonly source: string;
  /** Columns that it reads. */
  readonly uses: readonly string[];
  read(number: number, cellOf: CellOf): IdentityLine;
}

/** Reads the rows of CSV below its header. */
export function rowsOf(header: Header, file: IdentityFile): IdentityForm {
  const { separator, columns } = header;
  const { source, uses, read } = rowForm(header, file);
  const used = columns.filter((name) => name !== undefined && uses.includes(name));
  const twice = used.find((name, i) => used.indexOf(name) < i);
  if (twice !== undefined) throw new StartError(`${file.name} has two columns for ${twice} in its header`);
  // A program may omit cells that are empty at the end of a row, and add some.
  const needed = columns.findLastIndex((name) => name !== undefined && uses.includes(name)) + 1;
  const rowOf = ({ number, cells, issue, quote }: CsvRecord): IdentityLine[] => {
    if (issue === "open_quote") {
      const message = `The quoted cell that opens in line ${quote} does not end with a quote, or cannot be read`;
      return [refusedLine(number, issue, message)];
    }
    if (cells === undefined) return [refusedLine(number, issue ?? "invalid_row")];
    const values = cells.map((cell) => exchanged(cell, separator).trim());
    if (values.every((value) => value === "")) return [];
    if (values.length < needed || values.slice(columns.length).some((value) => value !== "")) {
      return [refusedLine(number, "invalid_row")];
    }
    if (repeatsHeader(values, header)) return [refusedLine(number, "invalid_row", "The row repeats the header")];
    return [read(number, (name) => values[columns.indexOf(name)] ?? "")];
  };
  const reader = new CsvReader();
  return {
    source,
    hasHeader: true,
    push: (lines) =>
      reader.push(lines.map((line) => ({ ...line, text: exchanged(line.text, separator) }))).flatMap(rowOf),
    end: () => reader.end().flatMap(rowOf),
  };
}

function rowForm({ columns, hasOthers }: Header, file: IdentityFile): RowForm {
  const { name, options } = file;
  const { field } = options;
  if (field !== undefined && columns.includes(field)) return identityColumns([field], file);
  const fields = columns.filter((column) => column !== undefined && !itemColumns.includes(column));
  if (columns.includes("value")) {
    if (!hasOthers && fields.length === 0 && (field !== undefined || columns.includes("field"))) return itemRow(file);
    throw new StartError(`${name} needs the columns field, value and, optionally, table, and no others`);
  }
  if (field === undefined) return identityColumns(fields as string[], file);
  throw new StartError(`${name} has no column ${field} in its header`);
}

function itemRow(file: IdentityFile): RowForm {
  return {
    source: "field and value of each row",
    uses: itemColumns,
    read: (number, cellOf) =>
      checkedCell(
        number,
        { table: cellOf("table") || undefined, field: cellOf("field") || undefined, value: cellOf("value") },
        file,
      ),
  };
}

/** Reads the strongest of these fields that has a value. A value that identifies no one counts as none. */
function identityColumns(fields: readonly string[], file: IdentityFile): RowForm {
  const { tables, options } = file;
  const strongest = (name: string) => tables.get(name)?.strongestFirst.filter((field) => fields.includes(field)) ?? [];
  const usual = strongest(options.table ?? DEFAULT_TABLE);
  const names = usual.length === fields.length ? usual.join(", else ") : fields.join(", ");
  return {
    source: `${names}, from the file's header`,
    uses: ["table", ...fields],
    read(number, cellOf) {
      const name = cellOf("table") || options.table || DEFAULT_TABLE;
      const table = tables.get(name);
      const named = strongest(name).find((field) => cellOf(field) !== "" && !table?.isNobody(cellOf(field)));
      if (table !== undefined && named === undefined) {
        return refusedLine(
          number,
          "empty_identity",
          `The row has no value that identifies someone in: ${fields.join(", ")}`,
        );
      }
      return checkedCell(number, { table: name, field: named, value: named && cellOf(named) }, file);
    },
  };
}

interface Cell {
  readonly table: string | undefined;
  readonly field: string | undefined;
  readonly value: string | undefined;
}

function checkedCell(number: number, cell: Cell, file: IdentityFile): IdentityLine {
  if (isSurrounded(cell.value ?? "")) return refusedLine(number, "invalid_identity", SURROUNDED);
  return checkedLine(number, cell, file);
}

const SURROUNDED =
  "value: The cell has quotes or an invisible character around its value. If they are meant, send it as JSON";
