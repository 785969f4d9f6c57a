import { StartError } from "../../errors.js";
import { splitArray, startOf } from "../../formats/json-array.js";
import type { Line } from "../../formats/line-splitter.js";
import { itemColumns } from "./header.js";
import { checkedLine, type IdentityFile, type IdentityForm, type IdentityLine, refusedLine } from "./identity-line.js";

/** Maximum characters of a JSON array. */
const ARRAY_LENGTH = 16 * 1024 * 1024;

/** Reads an object `{ table, field, value }`. */
export function jsonLine(number: number, text: string, file: IdentityFile): IdentityLine {
  let item: unknown;
  try {
    item = JSON.parse(text);
  } catch {
    return refusedLine(number, "not_json", "The line is not JSON");
  }
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    return refusedLine(number, "not_an_object", "An item must be a JSON object");
  }
  if (Object.keys(item).some((name) => !itemColumns.includes(name))) {
    return refusedLine(number, "unknown_field", `Unknown field; the known ones are ${itemColumns.join(", ")}`);
  }
  return checkedLine(number, item, file);
}

/** Reads a file that is one JSON array, at its end. */
export function jsonArray(file: IdentityFile): IdentityForm {
  let text = "";
  let first: number | undefined;
  let isReadable = true;
  return {
    source: "each element of a JSON array",
    hasHeader: false,
    push(lines) {
      first ??= lines[0]?.number;
      isReadable &&= lines.every(({ issue }) => issue === undefined);
      text += lines.map((line) => `${line.text}\n`).join("");
      if (text.length <= ARRAY_LENGTH) return [];
      throw new StartError(`${file.name} is a JSON array of more than 16 MiB: use NDJSON, one item per line`);
    },
    end() {
      const elements = isReadable ? elementsOf(text, first ?? 1) : undefined;
      if (elements === undefined) throw new StartError(`${file.name} is not one complete JSON array in UTF-8`);
      return elements.map((element) => jsonLine(element.number, element.text, file));
    },
  };
}

/**
 * Returns the elements of a JSON array that begins in line `number`, with the number of their first line; undefined if
 * the text is not one array.
 */
function elementsOf(text: string, number: number): Line[] | undefined {
  const bytes = new TextEncoder().encode(text);
  const array = splitArray(bytes, Number.POSITIVE_INFINITY);
  if (array === undefined || array.brokenAt !== undefined) return undefined;
  const decoder = new TextDecoder();
  const elements = array.ends.map((end, i) => decoder.decode(bytes.subarray(startOf(array, i), end)));
  if (elements.some((element) => element.trim() === "")) return undefined;
  let line = number + newlinesIn(decoder.decode(bytes.subarray(0, array.start)));
  return elements.map((element) => {
    const before = newlinesIn(element.slice(0, element.search(/\S/)));
    const read = { number: line + before, text: element };
    line += newlinesIn(element);
    return read;
  });
}

function newlinesIn(text: string): number {
  return text.split("\n").length - 1;
}
