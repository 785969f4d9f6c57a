/** Returns whether a text has at most so many characters; one outside the Basic Multilingual Plane is one character. */
export function hasAtMost(characters: number, text: string): boolean {
  if (text.length <= characters) return true;
  return text.length <= 2 * characters && [...text].length <= characters;
}

/** Returns whether a text takes at most `bytes` in UTF-8. */
export function hasAtMostBytes(bytes: number, text: string): boolean {
  if (text.length > bytes) return false;
  return text.length * MAX_UNIT_BYTES <= bytes || new TextEncoder().encode(text).length <= bytes;
}

/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const MAX_UNIT_BYTES = 3;

/**
 * Compares in the order of UTF-8 bytes, which is the order of ids in lists. It differs from the order of code units
 * only for surrogates.
 */
export function compareBytes(a: string, b: string): number {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

const SURROGATE = /[\ud800-\udfff]/;

/** Returns the searchable form of a text, which ignores case. */
export function searchText(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** Returns the normal form of an e-mail address or its domain. The time grows with the square of the length. */
export function emailForm(text: string): string {
  return text.normalize("NFC").trim().toLowerCase().normalize("NFC");
}

/**
 * Returns the word that a misspelt name probably means: the nearest one, ignoring case, if at most a third of its
 * characters, rounded, and at most two differ. Otherwise it may be another word: HOME is not HOST.
 */
export function meantWord(name: string, words: readonly string[]): string | undefined {
  const short = name.slice(0, 64).toLowerCase();
  const most = Math.min(MAX_EDITS, Math.round(name.length / 3));
  const near = words.map((word) => ({ word, edits: distance(short, word.toLowerCase()) }));
  return near.filter(({ edits }) => edits <= most).sort((a, b) => a.edits - b.edits)[0]?.word;
}

const MAX_EDITS = 2;

/** Returns the hint of an error about an unknown name, which does not contain that name. */
export function knownNames(name: string, known: readonly string[]): string {
  const meant = meantWord(name, known);
  return meant === undefined ? `the known ones are ${known.join(", ")}` : `the nearest known one is ${meant}`;
}

/** Levenshtein distance, https://en.wikipedia.org/wiki/Levenshtein_distance. */
function distance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (previous[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[to.length] as number;
}
