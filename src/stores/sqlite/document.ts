/** Returns the record of a row that has it as JSON in the column `document`. */
export function recordOf<T>(row: unknown): T {
  return JSON.parse((row as { readonly document: string }).document) as T;
}
