/** Each character is matched by one part alone, so that a long text costs time in proportion to its length. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** The number that a decimal text is, ±Infinity for one beyond all doubles; undefined for any other text. */
export function decimal(text: string): number | undefined {
  return DECIMAL.test(text) ? Number(text) : undefined;
}
