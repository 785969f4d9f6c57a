import { ledgerMismatch } from "../deletions/match-ledger.js";
import type { DeletionWatermark } from "../deletions/ports.js";
import type { IdentityCheck } from "../entities/ports.js";
import { StartError } from "../errors.js";
import { randomId } from "../ids.js";
import type { AlertState } from "../metrics/ports.js";

/** Single facts about a database, each under its own name. */
export interface Facts {
  /** Returns the text under this name; undefined if it was never set. */
  text(name: string): Promise<string | undefined>;
  /** Sets the text unless it is set. Resolves with the stored text, which is the same for all concurrent callers. */
  textOnce(name: string, text: string): Promise<string>;
  /** Replaces the text if it still is `before` (undefined: not set). Resolves with whether it did. */
  replaceText(name: string, before: string | undefined, text: string): Promise<boolean>;
  /** Returns the number under this name, 0 at first. */
  number(name: string): Promise<number>;
  /** Raises the number under this name to at least `number`. Safe to repeat. */
  raise(name: string, number: number): Promise<void>;
}

/** In both databases: a random mark of the ledger that the data was created with. */
export const LEDGER_MARK = "ledger";

/** In the ledger: the wrapped key of receipts. */
export const RECEIPT_KEY = "receipt key";

/** In the data: the number up to which all requests are erased. */
export const ERASED = "erased";

/** In the data: the newest number of a request that was ever accepted. */
export const ACCEPTED = "accepted";

/**
 * In the ledger: the newest number of a request that was removed, or may be. Numbers up to it are not assigned again.
 */
export const FORGOTTEN = "forgotten";

/** The data's record of its ledger, as facts of the data. */
export function deletionWatermark(data: Facts): DeletionWatermark {
  return {
    read: () => data.number(ERASED),
    write: (sequence) => data.raise(ERASED, sequence),
  };
}

/** In the data: set when its profiles were checked by the rules of identities of version 2.0.0. */
const CHECKED_IDENTITIES = "identities checked by 2.0.0";

/** The check of identities, as a fact of the data. */
export function identityCheck(data: Facts): IdentityCheck {
  return {
    isDone: async () => (await data.text(CHECKED_IDENTITIES)) !== undefined,
    finish: async () => void (await data.textOnce(CHECKED_IDENTITIES, "yes")),
  };
}

/** In the data: the state of alerts. */
export const ALERTS = "alerts";

/** The state of alerts, as a fact of the data. */
export function alertState(data: Facts): AlertState {
  return {
    read: () => data.text(ALERTS),
    replace: (before, text) => data.replaceText(ALERTS, before, text),
  };
}

/** A ledger that is compared with its data. */
interface ComparedLedger {
  readonly facts: Facts;
  /** Its name for the operator. */
  readonly name: string;
  /** Returns the number of the newest request ever accepted. */
  accepted(): Promise<number>;
  /** See `LedgerFacts`. */
  hasNewest(): Promise<boolean>;
}

/**
 * Refuses data that does not belong to its ledger: see `ledgerMismatch`. Marks new data and returns the mark. Several
 * processes may do this concurrently, also with empty databases: the ledger is marked before the data is. Reads the
 * facts in the opposite order of their writing, because other processes may be writing them.
 */
export async function matchLedger(
  ledger: ComparedLedger,
  data: { readonly facts: Facts; readonly name: string },
): Promise<string> {
  const known = await data.facts.text(LEDGER_MARK);
  const mark = await (known === undefined
    ? ledger.facts.textOnce(LEDGER_MARK, randomId())
    : ledger.facts.text(LEDGER_MARK));
  const facts = {
    data: {
      mark: known,
      erased: await data.facts.number(ERASED),
      accepted: await data.facts.number(ACCEPTED),
    },
    ledger: { mark, hasNewest: await ledger.hasNewest(), accepted: await ledger.accepted() },
  };
  const error = ledgerMismatch(facts, { ledger: ledger.name, data: data.name });
  if (error !== undefined) throw error;
  // Writes at every start, so that a user without the right to write is refused at the start.
  const stored = await data.facts.textOnce(LEDGER_MARK, mark as string);
  if (stored === mark) return stored;
  throw new StartError(`${data.name} is being initialized with another ledger than ${ledger.name}: start again`);
}
