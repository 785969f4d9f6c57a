import type { LedgerPosition } from "../entities/ports.js";

const DIGITS = 16;

/** Returns a number that a ledger assigns to deletions in order as a position. 0, before the first one, is empty. */
export function ledgerPosition(number: number | bigint): LedgerPosition {
  return number === 0 || number === 0n ? "" : number.toString(16).padStart(DIGITS, "0");
}

/** Returns the number of a position. */
export function positionNumber(position: LedgerPosition): bigint {
  return BigInt(`0x${position || 0}`);
}
