import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../clock.js";
import type { Hook, Outbox, OutboxRow } from "../entities/outbox.js";
import { type EntityId, idsOf } from "../entities/profile/entity.js";
import type { Tables } from "../entities/profile/entity-tables.js";
import type { Identity, IdentityHash } from "../entities/profile/identity.js";
import { retryOnConflict } from "../entities/requests/retry-on-conflict.js";
import type { Failpoint } from "../failpoint.js";
import type { Reservation } from "../memory-budget.js";
import { LEASE_MS } from "./deletion.js";
import { encryptIdentities } from "./identity-list.js";
import { leftSegments } from "./left-segments.js";
import type { DownstreamTarget, Ledger, Webhook } from "./ports.js";
import { type DeletionScope, expandScope, type ScopeDependencies } from "./scope.js";
import { CALL_BEGINS_MS, LOOK_MS } from "./targets/hook.js";

export interface AcceptDependencies extends ScopeDependencies {
  readonly ledger: Pick<Ledger, "accept">;
  readonly outbox: Pick<Outbox, "of" | "erase">;
  readonly hooks: readonly Hook[];
  readonly tables: Tables;
  /** Targets of new requests. */
  readonly targets: readonly DownstreamTarget[];
  /** Notified of the completion of new requests; undefined: none. */
  readonly webhook: Webhook | undefined;
  /** See `clock.monotonicClock`. */
  readonly arrivalClock: Clock;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
}

/**
 * Accepts the deletion of the profile that has this identity and resolves with its request id. From then on the request
 * survives a crash and no read returns the profile by any of its identities. Messages stored later build a new profile;
 * messages with an event time up to the deletion are dropped. An identity without a profile is accepted in the same
 * way. Rejects with `unavailable` when writers keep changing the profile. Once `late` has aborted, nothing is sent to
 * the ledger; a request sent before may still be accepted.
 */
export function acceptDeletion(
  dependencies: AcceptDependencies,
  table: string,
  identity: Identity,
  memory: Reservation,
  late: AbortSignal,
): Promise<string> {
  const acceptedAt = dependencies.arrivalClock();
  const requestId = newRequestId(acceptedAt);
  const scopeOf = (hash: IdentityHash) => expandScope(dependencies, hash, memory);
  return storeDeletion(dependencies, { requestId, table, identity, acceptedAt }, scopeOf, late);
}

/** A request that is not stored yet. */
interface NewDeletion {
  readonly requestId: string;
  readonly table: string;
  readonly identity: Identity;
  readonly acceptedAt: number;
}

/** Stores a request over the scope of its identity, as `acceptDeletion` does. Skips an id that is stored already. */
export function storeDeletion(
  dependencies: AcceptDependencies,
  { requestId, table, identity, acceptedAt }: NewDeletion,
  scopeOf: (hash: IdentityHash) => Promise<DeletionScope>,
  late: AbortSignal,
): Promise<string> {
  const hash = dependencies.hashIdentity(table, identity);
  const { ledger, hooks, tables, targets, clock, failpoint } = dependencies;
  return retryOnConflict(async () => {
    const { profiles, hashes, identities, owners } = await scopeOf(hash);
    // A profile of an earlier version may have values that identify no one: a target could erase all who have one.
    const ofPerson = identities.filter(({ value }) => tables.get(table)?.isNobody(value) !== true);
    const encrypt = (changes: readonly OutboxRow[] = []) =>
      encryptIdentities(requestId, [identity, ...ofPerson], leftSegments(hooks, profiles, changes));
    late.throwIfAborted();
    failpoint("deletion-planned");
    const isAccepted = await ledger.accept(
      {
        requestId,
        table,
        acceptedAt,
        entities: [...new Set(profiles.flatMap(idsOf))],
        hashes,
        // With hooks, the acceptance encrypts them with the segments to report as left.
        encryptedIdentities: hooks.length === 0 && targets.some(({ remote }) => remote) ? encrypt() : undefined,
        targets: targets.map(({ name }) => name),
        done: [],
        times: {},
        attempts: 0,
        problem: undefined,
        // The margin lets a process whose clock is behind run the request at once.
        notBefore: clock() - LEASE_MS,
        completedAt: undefined,
        notify: dependencies.webhook !== undefined,
      },
      {
        profiles,
        owners,
        encrypt: hooks.length > 0 ? encrypt : undefined,
      },
      late,
    );
    failpoint("deletion-accepted");
    if (isAccepted) await callsBegun(dependencies, profiles.flatMap(idsOf));
    return isAccepted ? requestId : undefined;
  }, late);
}

/**
 * Waits until calls of hooks with these people have begun that were claimed before the acceptance: none is later. A
 * change that `addMembers` has stored during the acceptance is removed.
 */
async function callsBegun({ outbox, hooks }: AcceptDependencies, ids: readonly EntityId[]): Promise<void> {
  if (hooks.length === 0 || ids.length === 0) return;
  await outbox.erase(ids);
  const until = performance.now() + CALL_BEGINS_MS;
  while ((await outbox.of(ids)).some(({ state }) => state === "sending") && performance.now() < until)
    await sleep(LOOK_MS);
}

const REQUEST_ID_DIGITS = 20;

/**
 * Returns the id of a request that arrived at `arrival` (Unix ms). It begins with the last 20 of unique hex `digits`.
 */
export function newRequestId(
  arrival: number,
  digits: string = randomBytes(REQUEST_ID_DIGITS / 2).toString("hex"),
): string {
  return `${digits.slice(-REQUEST_ID_DIGITS)}-${Math.floor(arrival / 1000)}`;
}
