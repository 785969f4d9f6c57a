const LONGEST = 256;

/** Control characters, and halves of surrogate pairs, which no store keeps as they are. */
const UNFIT = /[\p{Cc}\p{Cs}]/u;

/** Whether a series may have this id: 1 to 256 characters, none of them a control character, not ending in `\`. */
export function isDimensionId(id: string): boolean {
  if (id === "" || id.endsWith("\\") || UNFIT.test(id)) return false;
  return id.length <= LONGEST || [...id.slice(0, 2 * LONGEST + 1)].length <= LONGEST;
}

/** The rule in words. */
export const dimensionIdRule = "A text of 1 to 256 characters, without control characters, not ending in a backslash";
