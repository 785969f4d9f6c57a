/**
 * Returns the search for a text (Knuth-Morris-Pratt). Its time is linear; the time of `includes` can grow with the
 * product of both lengths.
 */
export function textSearch(operand: string): (text: string) => boolean {
  /** Length of the longest beginning of the operand that ends its first n characters too, and is shorter. */
  const borders = new Int32Array(operand.length + 1);
  const extended = (length: number, code: number): number => {
    let matched = length;
    while (matched > 0 && operand.charCodeAt(matched) !== code) matched = borders[matched] as number;
    return operand.charCodeAt(matched) === code ? matched + 1 : 0;
  };
  for (let i = 1; i < operand.length; i += 1) {
    borders[i + 1] = extended(borders[i] as number, operand.charCodeAt(i));
  }
  return (text) => {
    let matched = 0;
    for (let i = 0; i < text.length && matched < operand.length; i += 1) {
      matched = extended(matched, text.charCodeAt(i));
    }
    return matched === operand.length;
  };
}
