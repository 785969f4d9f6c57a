/** Returns the field that a value is usually of: one with an @ is an e-mail address, any other one the first field. */
export function fieldOf(value: string, fields: readonly string[]): string {
  const email = value.includes("@") ? fields.find((field) => /e-?mail/i.test(field)) : undefined;
  return email ?? fields[0] ?? "";
}
