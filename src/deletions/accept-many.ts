import { setMaxListeners } from "node:events";
import { groupedCalls } from "../async/grouped-calls.js";
import type { Identity, IdentityHash } from "../entities/profile/identity.js";
import { PAUSE_MS } from "../entities/read/open-profile.js";
import { batchesOf, type RequestItems } from "../entities/requests/batches.js";
import { differentBody, type IdempotencyDependencies, RepeatableRun } from "../entities/requests/repeatable-run.js";
import type { ValidationIssue } from "../errors.js";
import { type AcceptDependencies, acceptDeletion, newRequestId } from "./accept.js";
import type { Ledger } from "./ports.js";
import { type DeletionScope, expandScope, type ScopeDependencies } from "./scope.js";

export interface AcceptManyDependencies
  extends Omit<AcceptDependencies, "scopeOf">,
    ScopeDependencies,
    IdempotencyDependencies {
  readonly ledger: Pick<Ledger, "accept" | "find">;
}

/** Identities of one request, each of which requests a deletion. */
export interface ManyDeletions extends RequestItems<{ readonly table: string; readonly identity: Identity }> {
  /** Aborts when the request is abandoned. */
  readonly late: AbortSignal;
  /** Identifies a request that may be repeated; undefined for other requests. */
  readonly repeatName: string | undefined;
}

/** An accepted deletion, or the issue of a rejected item. */
export type Acceptance =
  | { readonly requestId: string; readonly completed: boolean }
  | { readonly issue: ValidationIssue };

/** Deletions accepted together: they share commits. More would delay other requests for more than 50 ms. */
const MAX_BATCH = 100;

/** Bytes of a full batch, by estimate. */
const MAX_BATCH_BYTES = 1_048_576;

/** Maximum items of a batch whose profiles are read and decrypted concurrently. A profile may take 1 MiB. */
const MAX_CONCURRENT_SCOPES = 4;

/**
 * Accepts any number of deletions, batch by batch. Yields the results of a batch, in order, when its requests are
 * durable. In a repeated request each item has the request id of the first run. Throws when an earlier run had another
 * body.
 */
export async function* acceptMany(
  dependencies: AcceptManyDependencies,
  request: ManyDeletions,
): AsyncGenerator<readonly Acceptance[]> {
  const { repeatName, late, memory } = request;
  const run = repeatName === undefined ? undefined : new RepeatableRun(dependencies, repeatName);
  // Without this, Node warns when many items wait with one signal.
  setMaxListeners(0, late);
  const tally = { accepted: 0, rejected: 0 };

  async function acceptOne(
    table: string,
    identity: Identity,
    now: number,
    scopeOf: (hash: IdentityHash) => Promise<DeletionScope>,
    requestId: string | undefined,
  ): Promise<Acceptance> {
    const stored =
      requestId === undefined || run?.repeatedSince === undefined
        ? undefined
        : await dependencies.ledger.find(requestId);
    if (stored !== undefined) return { requestId: stored.requestId, completed: stored.completedAt !== undefined };
    if (run?.isFinished) throw differentBody();
    const accepted = await acceptDeletion({ ...dependencies, scopeOf }, table, identity, now, late, requestId);
    return { requestId: accepted, completed: false };
  }

  const weightOf = (bytes: number) => Math.max(1, (bytes / MAX_BATCH_BYTES) * MAX_BATCH);
  for await (const batch of batchesOf(request, MAX_BATCH, ({ item }) => weightOf(item.bytes))) {
    const ids = await run?.idsFor(batch.map(({ item }) => item.text));
    const arrival = run?.arrival;
    const now = dependencies.arrivalClock();
    const pause = dependencies.turns.pauses(PAUSE_MS);
    const scopes = groupedCalls(
      async ([hash]: readonly IdentityHash[]) => {
        await pause();
        return expandScope(dependencies, hash as IdentityHash, memory);
      },
      { most: 1, atOnce: MAX_CONCURRENT_SCOPES },
    );
    const scopeOf = (hash: IdentityHash) => scopes([hash]);
    const results = await Promise.all(
      batch.map(({ item, value, issue }, index): Acceptance | Promise<Acceptance> => {
        if (value === undefined) return { issue: { ...issue, path: item.place(issue.path) } };
        const digits = ids?.[index];
        const requestId = digits === undefined || arrival === undefined ? undefined : newRequestId(digits, arrival);
        return acceptOne(value.table, value.identity, now, scopeOf, requestId);
      }),
    );
    const rejected = results.filter((result) => "issue" in result).length;
    tally.accepted += results.length - rejected;
    tally.rejected += rejected;
    memory.progressed();
    yield results;
  }
  await run?.finish(JSON.stringify(tally));
}
