import type { ValidationIssue } from "../errors.js";

/** What the wire calls fields, by what a domain calls them. */
export type WireNames = Readonly<Record<string, string>>;

/** Every field of a series and of its window that a message may name. */
export const seriesNames: WireNames = {
  dimension: "dimension",
  id: "dimension_id",
  type: "dimension_type",
  start: "startdate",
  end: "enddate",
};

/** An issue in the names of the wire: of the field at the end of its path, and of the fields that stand in braces in its message. */
export function inWireNames({ code, path, message }: ValidationIssue, names: WireNames): ValidationIssue {
  return {
    code,
    path: path.replace(/\w+$/, (field) => names[field] ?? field),
    message: messageInWireNames(message, names),
  };
}

export function messageInWireNames(message: string, names: WireNames): string {
  return message.replaceAll(/\{(\w+)\}/g, (braces, field) => names[field] ?? braces);
}
