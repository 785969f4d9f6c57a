import type { EntityId } from "../entities/entity.js";
import type { IdentityHash } from "../entities/identity.js";
import type { Deletion } from "./deletion.js";
import type { SealedList } from "./sealed-identities.js";

/** What a repeat, or the run of a request, changes of an open deletion. */
export interface Extension {
  /** Stages that need not be done again; none when absent. */
  readonly done?: readonly string[];
  /** A later cut-off of the identity that was asked for, with the id that held it when no live profile did; undefined: no id. */
  readonly cutOff?: { readonly at: number; readonly holder: EntityId | undefined };
  readonly entities?: readonly EntityId[];
  /** The key is kept with the list. */
  readonly sealed?: SealedList;
}

/** What a request was made from, and with. */
export interface AcceptedScope {
  /** The live profiles that it names, with the revisions they were read at. */
  readonly profiles: readonly { readonly id: EntityId; readonly revision: number }[];
  /** Identities of the request that lead to no live profile, with the id that held each; undefined: no id. */
  readonly free: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /** The key of the request's sealed list of identities, which is kept with it. */
  readonly sealerKey: Uint8Array;
}

/** PORT. Deletion requests, newest truth about who is erased; never restored from a backup. */
export interface Ledger {
  /**
   * Keeps the request with the key of its sealed list, and resolves with its number, unless a profile of its scope, or the holder of an identity, is another one by now: then undefined,
   * with nothing kept. When it resolves with a number it survives a crash, `Suppression` answers with it, `EntityStore.load` has none of the profiles, and every commit that was planned before
   * and concerns one of the identities is refused. The entity data notes that a request of this number was accepted: the next start refuses a ledger that does
   * not know of it.
   */
  accept(deletion: Deletion, scope: AcceptedScope): Promise<number | undefined>;
  find(requestId: string): Promise<Deletion | undefined>;
  /** The newest open request that was asked for by this identity. */
  openFor(identity: IdentityHash): Promise<Deletion | undefined>;
  /** Open requests that name any of these identities, whoever asked, each once, in order of acceptance. */
  openOver(identities: readonly IdentityHash[]): Promise<Deletion[]>;
  /**
   * Changes an open request, durably, and resolves with the result; undefined when it is completed, unknown, has another
   * revision by now, or the identity is held by another id. A cut-off never goes down. The revision goes up, and all stages but those of `done` are to be done again, at once.
   */
  extend(requestId: string, revision: number, extension: Extension): Promise<Deletion | undefined>;
  /**
   * Open requests in order of acceptance, after request id `after`; `due`, a moment, leaves out those whose `notBefore` is
   * later and those that a runner has. A wait or a lease that began after that moment is over: the clock has been set back since.
   */
  open(options: { after?: string; limit: number; due?: number }): Promise<Deletion[]>;
  /** How many are open; with `attempts`, those with at least so many failed attempts. */
  countOpen(options?: { attempts: number }): Promise<number>;
  /**
   * Makes `runner` the only one who runs the request until `until`, unless another is at `now`. False when it is not open.
   * A lease that began after `now` is over: the clock has been set back since.
   */
  claim(requestId: string, runner: string, now: number, until: number): Promise<boolean>;
  release(requestId: string, runner: string): Promise<void>;
  /** Notes progress, at `now`, of an open request that still has this revision; otherwise nothing happens. */
  note(
    requestId: string,
    revision: number,
    progress: { done: readonly string[]; attempts: number; notBefore: number; now: number },
  ): Promise<void>;
  /** Lets requests that wait for a later try run now. */
  wake(requestIds: readonly string[]): Promise<void>;
  /** Completes the request if its revision is still this one, and empties `sealedIdentities`; false when it was extended. Never goes back. Safe to repeat. */
  complete(requestId: string, revision: number, at: number): Promise<boolean>;
  /** The newest sequence number up to which no request is open. Sequence numbers go up with each request, from 1. */
  settledSequence(): Promise<number>;
  /** Requests accepted after that sequence number, in order, completed ones too, at most `limit`, each with its number. */
  since(sequence: number, limit: number): Promise<{ sequence: number; deletion: Deletion }[]>;
  /**
   * Forgets requests completed before `before` (deletions.keep), suppression included. Before, `note` is told the newest number
   * of them; when it rejects, nothing is forgotten.
   */
  expire(before: number, note: (newest: number) => Promise<void>): Promise<void>;
}
