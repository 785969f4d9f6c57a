import type { EntityId } from "../entities/entity.js";
import type { Identity, IdentityHash } from "../entities/identity.js";
import type { Deletion, SealedList } from "./deletion.js";

/** What a repeat, or the run of a request, changes of an open deletion. */
export interface Extension {
  /** Stages that need not be done again; none when absent. */
  readonly done?: readonly string[];
  /** The times of its stages; they stay when it is absent. */
  readonly times?: Deletion["times"];
  /** A later cut-off of the identity that was asked for, with the id that held it when no live profile did; undefined: no id. */
  readonly cutOff?: { readonly at: number; readonly holder: EntityId | undefined };
  readonly entities?: readonly EntityId[];
  /** The key is kept with the list. */
  readonly sealed?: SealedList;
}

/** How far a run has come. */
export interface Progress extends Pick<Deletion, "done" | "attempts" | "notBefore"> {
  readonly times?: Deletion["times"];
  readonly problem?: string | undefined;
  readonly now: number;
}

/** What a completion found: `completed` by this call, or before it; or extended, so that it stays open. */
export type Completion = "completed" | "completed before" | "extended";

/** What a request was made from, and with. */
export interface AcceptedScope {
  /** The live profiles that it names, with the revisions they were read at. */
  readonly profiles: readonly { readonly id: EntityId; readonly revision: number }[];
  /** Identities of the request that lead to no live profile, with the id that held each; undefined: no id. */
  readonly free: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /** The key of the request's sealed list of identities, which is kept with it. */
  readonly sealerKey: Uint8Array;
}

/** Which requests are listed. */
export type ListedState = "open" | "completed" | "all";

/** PORT. Deletion requests: the newest truth about who is erased, and never restored from a backup. Rejects as every store does: see `ServiceErrorOf`. */
export interface Ledger {
  /**
   * Keeps the request with the key of its sealed list, and resolves with its number, unless a profile of its scope, or the holder of an identity, is another one by now: then undefined,
   * with nothing kept. When it resolves with a number it survives a crash, `Suppression` answers with it, `EntityStore.load` has none of the profiles, and every commit that was planned before
   * and concerns one of the identities is refused. The entity data notes that a request of this number was accepted: the next start refuses a ledger that does
   * not know of it. Once `late` has aborted nothing is sent any more: then it rejects.
   */
  accept(deletion: Deletion, scope: AcceptedScope, late?: AbortSignal): Promise<number | undefined>;
  /** Undefined when there is no such request. */
  find(requestId: string): Promise<Deletion | undefined>;
  /** The newest open request that was asked for by this identity; undefined when there is none. */
  openFor(identity: IdentityHash): Promise<Deletion | undefined>;
  /** Open requests that name any of these identities, whichever identity each was asked for by; each once, in order of acceptance. */
  openOver(identities: readonly IdentityHash[]): Promise<Deletion[]>;
  /**
   * Changes an open request, durably, and resolves with the result; undefined when it is completed, unknown, has another
   * revision by now, or the identity is held by another id. A cut-off never goes down. The revision goes up, and all stages but `done` are to be done again, at once.
   * `late` as in `accept`.
   */
  extend(requestId: string, revision: number, extension: Extension, late?: AbortSignal): Promise<Deletion | undefined>;
  /**
   * Open requests in order of acceptance, after request id `after`; `due`, an instant, leaves out requests whose `notBefore` is
   * later and requests that are leased to a runner. A wait or a lease that began after that instant is over: the clock has been set back since.
   * `waiting` leaves out requests without a `notBefore`, which cost next to nothing then.
   */
  open(options: { after?: string | undefined; limit: number; due?: number; waiting?: true }): Promise<Deletion[]>;
  /** How many are open; with `attempts`, how many of them have at least so many failed attempts. */
  countOpen(options?: { attempts: number }): Promise<number>;
  /**
   * Leases the request to `runner` until `until`, unless another runner has it at `now`. False then, and when it is not open.
   * A lease that began after `now` is over: the clock has been set back since.
   */
  lease(requestId: string, runner: string, now: number, until: number): Promise<boolean>;
  /** Ends this runner's lease; nothing happens when it has none. Safe to repeat. */
  release(requestId: string, runner: string): Promise<void>;
  /**
   * Notes progress, at `now`, of an open request that still has this revision; otherwise nothing happens. Without `times` the times of its stages stay,
   * without `problem` there is none any more.
   */
  note(requestId: string, revision: number, progress: Progress): Promise<void>;
  /** Lets requests that wait for a later try run now; completed and unknown ones are left out. Safe to repeat. */
  wake(requestIds: readonly string[]): Promise<void>;
  /**
   * Completes the request if its revision is still this one, with the times of its stages, and empties `sealedIdentities`. Never goes
   * back. Safe to repeat.
   */
  complete(requestId: string, revision: number, at: number, times?: Deletion["times"]): Promise<Completion>;
  /**
   * Requests in the order of acceptance or, `newestFirst`, in the opposite order, after the one of id `after`, at most `limit`. None when there is no
   * such request.
   */
  list(options: {
    readonly state: ListedState;
    readonly newestFirst: boolean;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<Deletion[]>;
  /** Number of requests in this state. */
  count(state: ListedState): Promise<number>;
  /** Keeps the wrapped key of receipts unless it has one; resolves with the one that it has then, the same for all processes that call at once. */
  receiptKey(fresh: string): Promise<string>;
  /** The newest sequence number up to which no request is open. Sequence numbers go up with each request, from 1. */
  settledSequence(): Promise<number>;
  /** Requests accepted after that sequence number, in order, completed ones too, at most `limit`, each with its number. */
  since(sequence: number, limit: number): Promise<{ sequence: number; deletion: Deletion }[]>;
  /**
   * Forgets requests completed before `before` (deletions.keep), suppression included. Before, `note` is called with the newest number
   * of them; when it rejects, this rejects with the same error, and nothing is forgotten.
   */
  expire(before: number, note: (newest: number) => Promise<void>): Promise<void>;
}

/**
 * PORT. What the entity data knows of its ledger. Kept with the data, so that data restored from a backup knows less; the
 * start of an engine compares it with the ledger. Rejects as every store does: see `ServiceErrorOf`.
 */
export interface ErasureWatermark {
  /** How much of the ledger the data has seen: all requests up to this number are erased in it. 0 at first. */
  read(): Promise<number>;
  /** Notes that all requests up to this number are erased in the data. Never goes down. Safe to repeat. */
  write(sequence: number): Promise<void>;
  /**
   * Notes that completed requests up to this number are about to be forgotten, all of which are erased in the data. Data without
   * the note is refused at the next start, unless it has seen as much of the ledger. Safe to repeat.
   */
  noteForgotten(sequence: number): Promise<void>;
}

/** What a request asks a place to erase. */
export interface ErasureSubject {
  readonly requestId: string;
  readonly table: string;
  readonly entities: readonly EntityId[];
  /** As written; for remote targets alone, empty for others. */
  readonly identities: readonly Identity[];
  /** Unix ms. */
  readonly cutOff: number;
}

/** PORT. A place that holds data about entities besides the live profile. One of our own rejects as every store does (see `ServiceErrorOf`), a remote one with a `TargetError`. */
export interface DownstreamTarget {
  readonly name: string;
  /** A target of our own is tried again at most 30 s apart, a remote one at most 15 min. */
  readonly remote: boolean;
  /** Removes everything about the subject. Safe to repeat; rejects when it is not certain. */
  erase(subject: ErasureSubject): Promise<void>;
  /** Looks again: true when it holds nothing about the subject. Rejects when it cannot tell. */
  verify(subject: ErasureSubject): Promise<boolean>;
}

/** A target failed. The message says which one and how, in words that name no person: `crm answered 500`. */
export class TargetError extends Error {
  constructor(name: string, words: string, cause?: unknown) {
    super(`${name} ${words}`, { cause });
  }
}

/** PORT. A hint that a deletion can be run. May be lost, doubled or late: the ledger decides what is open, the sweeper finds it. */
export interface WakeUp {
  /**
   * Calls one of the listeners now, or after `delayMs`. Many hints of one request for about the same instant become one or two; a hint for later never
   * delays one for an earlier instant, also when it is given while the request runs. Never rejects and never waits for a store that is unreachable.
   */
  hint(requestId: string, delayMs?: number): void;
  /** Calls `run` for each hint. One that rejects is not called again for it; the others go on. */
  listen(run: (requestId: string) => Promise<void>): void;
  /** Stops listening; resolves when no run is under way. Never rejects. */
  close(): Promise<void>;
}
