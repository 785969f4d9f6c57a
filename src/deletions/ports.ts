import type { OutboxRow } from "../entities/outbox.js";
import type { EntityId, StoredEntity } from "../entities/profile/entity.js";
import type { Identity, IdentityHash } from "../entities/profile/identity.js";
import type { Deletion, EncryptedIdentities } from "./deletion.js";

/** Progress of a request, or of the notification of a completed one, that a run stores. */
export interface DeletionProgress
  extends Pick<Deletion, "done" | "times" | "attempts" | "problem" | "notBefore" | "notify"> {
  /** The remote target, or `NOTIFICATION`, that the next run calls; undefined: it begins with our own stores. */
  readonly nextTarget: string | undefined;
}

/** Revisions and owners that the scope of a request was read with. A request is accepted only if they are unchanged. */
export interface ScopeSnapshot {
  /** Live profiles of the request, as they were read. */
  readonly profiles: readonly Pick<StoredEntity, "id" | "revision" | "memberships">[];
  /** Identities of the request without a live profile, with the entity id that owned each, or undefined. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /**
   * Returns the encrypted identities of the request for the stored changes for hooks about its entities and about whole
   * segments; absent: the request has them. May be called again.
   */
  readonly encrypt?: ((changes: readonly OutboxRow[]) => EncryptedIdentities) | undefined;
}

/** States by which requests are listed; `stuck`: the open ones of which `isStuck` is true. */
export type ListedState = "open" | "stuck" | "completed" | "all";

/** Open requests with the same `problem` and the same next remote target. */
export interface OpenReason {
  readonly problem: string | undefined;
  readonly target: string | undefined;
  readonly requests: number;
  /** Number of them of which `isStuck` is true. */
  readonly stuck: number;
  /** Acceptance of the oldest, Unix ms. */
  readonly oldestAt: number;
}

/**
 * PORT. Deletion requests: the authority on erased profiles, never restored from a backup. A returned request, and that
 * it is completed, is never lost again: not by a crash or a change of primary. Rejects as every store does: see
 * `ToServiceError`.
 */
export interface Ledger {
  /**
   * Stores the request durably and resolves with true. A request whose id is stored already is not stored again.
   * Resolves with false, and stores nothing, when a profile of the scope or the owner of an identity has changed. From
   * acceptance on, `Suppression` returns the request, `EntityStore.load` returns none of its profiles, `Outbox.claim`
   * none of their changes, and the store refuses every commit that was planned before and concerns one of its
   * identities. The entity data notes the request, so the next start refuses a ledger that lacks it. Once `late` has
   * aborted, nothing is sent and the call rejects.
   */
  accept(deletion: Deletion, scope: ScopeSnapshot, late?: AbortSignal): Promise<boolean>;
  /** Returns the request, or undefined. */
  find(requestId: string): Promise<Deletion | undefined>;
  /**
   * Returns the id of the first accepted of the open requests over any of these identities; undefined without one.
   * Skips requests without profiles and encrypted identities, except `own`: they have nothing to erase that another
   * must wait for.
   */
  firstOpen(identities: readonly IdentityHash[], own?: string): Promise<string | undefined>;
  /**
   * Returns the ids of at most `limit` requests that are due at `now` and whose next run calls this remote target, or
   * none if undefined; with `NOTIFICATION`, completed requests whose notification is pending. The longest due comes
   * first; of requests with one `notBefore` the first accepted. A request is due when its `notBefore` has passed, or is
   * further ahead than any wait: the clock was set back since. The cost does not depend on the number of requests that
   * wait.
   */
  due(now: number, nextTarget: string | undefined, limit: number): Promise<string[]>;
  /**
   * Leases a request that is due at `now` to a runner until `until`. Undefined when it is not due, completed without a
   * pending notification, or unknown.
   */
  lease(requestId: string, runner: string, now: number, until: number): Promise<Deletion | undefined>;
  /** Extends this runner's lease. No effect without a lease. */
  renew(requestId: string, runner: string, until: number): Promise<void>;
  /** Ends this runner's lease and stores its progress. No effect without a lease. */
  release(requestId: string, runner: string, progress: DeletionProgress): Promise<void>;
  /** Makes requests due that wait for a retry; leased requests stay leased. Safe to repeat. */
  wake(requestIds: readonly string[]): Promise<void>;
  /**
   * Makes every request due whose next run calls this remote target, or with `NOTIFICATION` the webhook. Resolves with
   * the number of requests that waited for a retry. Cheap when none waits.
   */
  wakeWaitingFor(target: string): Promise<number>;
  /** Lets requests begin at our own stores whose next run calls a target that is not among these. */
  clearOtherTargets(configured: readonly string[]): Promise<void>;
  /**
   * Destroys the key of the request's encrypted identities and stores the progress in the same step: without them a
   * later run cannot verify remote targets. Resolves and rejects as `EntityKeys.destroy` does; no effect without a key.
   * Safe to repeat.
   */
  destroyKey(requestId: string, progress: Pick<Deletion, "done" | "times">): Promise<void>;
  /**
   * Completes an open request, stores the times of its stages and removes its encrypted identities, in one step. Cannot
   * be undone. A request with `notify` is due at `at`, for its notification. Resolves with true for the one call that
   * completed it.
   */
  complete(requestId: string, at: number, times: Deletion["times"]): Promise<boolean>;
  /**
   * Lists at most `limit` requests after the id `after`, in order of acceptance or, with `newestFirst`, in reverse.
   * With `target`, lists only requests whose next run calls this remote target, or `NOTIFICATION`; with `problem`, only
   * requests with it. Empty when `after` is unknown.
   */
  list(options: {
    readonly state: ListedState;
    readonly target?: string | undefined;
    readonly problem?: string | undefined;
    readonly newestFirst: boolean;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<Deletion[]>;
  /** Counts the requests that `list` returns for this state, target and problem. */
  count(state: ListedState, target?: string, problem?: string): Promise<number>;
  /** Counts the open requests by reason; returns at most `limit` reasons, first the ones with most stuck requests. */
  openReasons(limit: number): Promise<OpenReason[]>;
  /**
   * Stores the wrapped key of receipts unless one is stored; resolves with the stored key, the same for concurrent
   * callers.
   */
  receiptKey(fresh: string): Promise<string>;
  /**
   * Returns the newest sequence number up to which no request is open. Sequence numbers increase from 1; a request that
   * is accepted later never gets one that was returned.
   */
  settledSequence(): Promise<number>;
  /**
   * Returns at most `limit` requests accepted after that sequence number, in order and with their numbers, including
   * completed ones.
   */
  since(sequence: number, limit: number): Promise<{ sequence: number; deletion: Deletion }[]>;
  /**
   * Removes requests completed before `before` (deletions.retention) with their suppression; with `keepsNotifying` only
   * those without a pending notification.
   */
  expire(before: number, keepsNotifying: boolean): Promise<void>;
  /** Returns a number that no request that `expire` has removed exceeds; 0 if none was. */
  forgottenSequence(): Promise<number>;
}

/**
 * Fact of the entity data, its watermark: the number up to which all requests are erased in the data. A restored backup
 * has an older one; at start the engine compares it with the ledger.
 */
export const ERASED = "erased";

/** Data that a target erases for a request. */
export interface DeletionSubject {
  readonly requestId: string;
  readonly table: string;
  /** Ids under which our own stores may keep data of the subject. */
  readonly entities: readonly EntityId[];
  readonly hashes: readonly IdentityHash[];
  /** Identities as written; empty for our own targets. */
  readonly identities: readonly Identity[];
  /** Segments, by hook, that the hook is notified the person left; empty for our own targets. */
  readonly left: Readonly<Record<string, readonly string[]>>;
  /** Unix ms. */
  readonly cutOff: number;
}

/**
 * PORT. A system that holds data about entities. Our own targets reject as every store does (see `ToServiceError`),
 * remote targets with a `TargetError`.
 */
export interface DownstreamTarget {
  readonly name: string;
  /** Our own targets are retried after at most 30 s, remote targets after at most 15 min. */
  readonly remote: boolean;
  /** Whether its response to `erase` is all that can be verified. */
  readonly isTold?: boolean;
  /** Removes all data about the subject. Safe to repeat. Rejects when the result is uncertain. */
  erase(subject: DeletionSubject): Promise<void>;
  /** Returns whether the target holds no data about the subject. Rejects when it cannot tell. */
  verify(subject: DeletionSubject): Promise<boolean>;
}

/** PORT. The system that is notified of completed deletions and of alerts (`webhook`). */
export interface Webhook {
  /**
   * Sends the body with a receipt: these claims, by default the body, signed. Resolves when the system has received it.
   * Rejects with a `TargetError` when that is uncertain.
   */
  send(body: object, claims?: object): Promise<void>;
}

/** Failure of a target. The message names the target and the failure, and no personal data: `crm answered 500`. */
export class TargetError extends Error {
  constructor(name: string, words: string, cause?: unknown) {
    super(`${name} ${words}`, { cause });
  }
}

/**
 * PORT. Due notifications: a request can run now. One may be lost, duplicated or late: the ledger decides which
 * requests are due, and polling finds the rest.
 */
export interface DueNotifications {
  /** Sends the id to one listener in any process. Never rejects and never waits for an unreachable store. */
  send(requestId: string): void;
  /** Calls `run`, which never rejects, for each due notification that reaches this process. */
  listen(run: (requestId: string) => Promise<void>): void;
  /** Stops listening; runs in progress continue. Never rejects. */
  close(): Promise<void>;
}
