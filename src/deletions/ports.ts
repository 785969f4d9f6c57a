import type { EntityId } from "../entities/profile/entity.js";
import type { Identity, IdentityHash } from "../entities/profile/identity.js";
import type { Deletion } from "./deletion.js";

/** What a run that did not complete its request stores of it. */
export interface Progress extends Pick<Deletion, "done" | "times" | "attempts" | "problem" | "notBefore"> {
  /** The remote target that the next run calls; undefined when it begins with our own stores. */
  readonly nextTarget: string | undefined;
  /** When `notBefore` was set, Unix ms. */
  readonly now: number;
}

/** What a request was planned from. */
export interface AcceptedScope {
  /** The live profiles of the request, with the revisions they were read at. */
  readonly profiles: readonly { readonly id: EntityId; readonly revision: number }[];
  /** Identities of the request that lead to no live profile, with the id that held each; undefined: no id. */
  readonly free: ReadonlyMap<IdentityHash, EntityId | undefined>;
}

/** Requests by the remote target that their next run calls: those of one target, or all but those of some. */
export type NextTarget = { readonly is: string } | { readonly isNoneOf: readonly string[] };

/** Which requests are listed. */
export type ListedState = "open" | "completed" | "all";

/** PORT. Deletion requests: the newest truth about who is erased, and never restored from a backup. Rejects as every store does: see `ServiceErrorOf`. */
export interface Ledger {
  /**
   * Stores the request and resolves with its sequence number; undefined, with nothing stored, when a profile of its scope, or the holder of an identity, has changed. When
   * it resolves with a number it survives a crash, `Suppression` answers with it, `EntityStore.load` returns none of the profiles, and every commit that was planned before
   * and concerns one of the identities is refused. The entity data notes that a request of this number was accepted: the next start refuses a ledger
   * without it. Once `late` has aborted nothing is sent any more: then it rejects.
   */
  accept(deletion: Deletion, scope: AcceptedScope, late?: AbortSignal): Promise<number | undefined>;
  /** Undefined when there is no such request. */
  find(requestId: string): Promise<Deletion | undefined>;
  /** Ids of open requests that name any of these identities, in order of acceptance, at most `limit`. */
  openOver(identities: readonly IdentityHash[], limit: number): Promise<string[]>;
  /**
   * Ids of open requests that are due at `now`, in order of acceptance, at most `limit`. A request is due when its `notBefore` is not later than
   * `now`, or was set after `now`: the clock has been set back since.
   */
  due(now: number, nextTarget: NextTarget, limit: number): Promise<string[]>;
  /** Leases an open request that is due at `now` to a runner, as its `notBefore`. Undefined when it is not due, not open or unknown. */
  lease(requestId: string, runner: string, now: number, until: number): Promise<Deletion | undefined>;
  /** Extends this runner's lease. Does nothing when it has none. */
  renew(requestId: string, runner: string, now: number, until: number): Promise<void>;
  /** Ends this runner's lease and stores its progress. Does nothing when it has no lease or the request is completed. */
  release(requestId: string, runner: string, progress: Progress): Promise<void>;
  /** Makes requests due that wait for a later try, but none that is leased. Safe to repeat. */
  wake(requestIds: readonly string[]): Promise<void>;
  /** The same for every request whose next run calls this remote target. Costs little when none waits. */
  wakeWaitingFor(target: string): Promise<void>;
  /** Overwrites the key of the request's encrypted identities in place. Resolves and rejects as `EntityKeys.destroy` does; does nothing without a key. Safe to repeat. */
  destroyKey(requestId: string): Promise<void>;
  /**
   * Completes an open request, with the times of its stages, and removes its encrypted identities. Never goes back. True for the one call that
   * completed it.
   */
  complete(requestId: string, at: number, times: Deletion["times"]): Promise<boolean>;
  /** How many are open; with `attempts`, how many of them have at least so many failed attempts. */
  countOpen(options?: { attempts: number }): Promise<number>;
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

/** What a target erases for a request. */
export interface ErasureSubject {
  readonly requestId: string;
  readonly table: string;
  readonly entities: readonly EntityId[];
  /** As written; for remote targets alone, empty for others. */
  readonly identities: readonly Identity[];
  /** Unix ms. */
  readonly cutOff: number;
}

/** PORT. A system that holds data about entities. One of our own rejects as every store does (see `ServiceErrorOf`), a remote one with a `TargetError`. */
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

/** PORT. Hints that a request can be run now. They may be lost, doubled or late: the ledger decides what is due, and its poll finds the rest. */
export interface WakeUp {
  /** Gives the id to one listener of any process. Never rejects and never waits for a store that is unreachable. */
  hint(requestId: string): void;
  /** Calls `run` for each hint that reaches this process. A run that rejects is not repeated; the others continue. */
  listen(run: (requestId: string) => Promise<void>): void;
  /** Stops listening; resolves when no run is under way. Never rejects. */
  close(): Promise<void>;
}
