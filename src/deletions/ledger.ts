import type { EntityId } from "../entities/entity.js";
import type { IdentityHash } from "../entities/identity.js";
import type { Deletion } from "./deletion.js";

/** What a repeat, or a join found later, adds to an open deletion. */
export interface Extension {
  /** Stages that need not be done again; none when absent. */
  readonly done?: readonly string[];
  /** Of the identity that was asked for, and of the hashes that this adds. */
  readonly cutOff?: number;
  readonly entities?: readonly EntityId[];
  readonly hashes?: readonly IdentityHash[];
  readonly sealed?: Pick<Deletion, "sealer" | "sealedIdentities">;
}

/** PORT. Deletion requests, newest truth about who is erased; never restored from a backup. */
export interface Ledger {
  /** Keeps the request, and hands out its number. When it resolves it survives a crash, and `Suppression` answers with it. */
  accept(deletion: Deletion): Promise<number>;
  find(requestId: string): Promise<Deletion | undefined>;
  /** The newest open request that was asked for by this identity. */
  openFor(identity: IdentityHash): Promise<Deletion | undefined>;
  /** Open requests that name any of these identities, whoever asked, each once, in order of acceptance. */
  openOver(identities: readonly IdentityHash[]): Promise<Deletion[]>;
  /**
   * Adds to an open request, durably, and hands out the result; undefined when it is completed, unknown, or has another
   * revision by now. A cut-off never goes down. The revision goes up, and all stages but those of `done` are to be done again, at once.
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
