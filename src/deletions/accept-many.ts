import { setMaxListeners } from "node:events";
import { groupedCalls } from "../async/grouped-calls.js";
import { yieldWhenDue } from "../async/yielding.js";
import type { Identity, IdentityHash } from "../entities/profile/identity.js";
import { batchesOf, type RequestItems } from "../entities/requests/batches.js";
import { differentBody, type IdempotencyDependencies, RepeatableRun } from "../entities/requests/repeatable-run.js";
import type { ValidationIssue } from "../errors.js";
import type { Reservation } from "../memory-budget.js";
import { type AcceptDependencies, newRequestId, storeDeletion } from "./accept.js";
import type { Ledger } from "./ports.js";
import { type DeletionScope, expandScope } from "./scope.js";

export interface AcceptManyDependencies extends AcceptDependencies, IdempotencyDependencies {
  readonly ledger: Pick<Ledger, "accept" | "find">;
}

/** An identity of an entity. */
interface NamedEntity {
  readonly table: string;
  readonly identity: Identity;
}

/** Identities of one request, each of which requests a deletion. */
export interface ManyDeletions extends RequestItems<NamedEntity> {
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

/** Stored with a repeatable request that is finished; results of its items are in the ledger. */
const FINISHED = "{}";

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
  const weightOf = (bytes: number) => Math.max(1, (bytes / MAX_BATCH_BYTES) * MAX_BATCH);

  for await (const batch of batchesOf(request, MAX_BATCH, ({ item }) => weightOf(item.bytes))) {
    const ids = await run?.idsFor(batch.map(({ item }) => item.text));
    const acceptedAt = dependencies.arrivalClock();
    const scopeOf = limitedScopes(dependencies, memory);

    async function accept({ table, identity }: NamedEntity, id: string | undefined): Promise<Acceptance> {
      const requestId = newRequestId(run?.arrival ?? acceptedAt, id);
      const stored = run?.repeatedSince === undefined ? undefined : await dependencies.ledger.find(requestId);
      if (stored !== undefined) return { requestId, completed: stored.completedAt !== undefined };
      if (run?.isFinished) throw differentBody();
      await storeDeletion(dependencies, { requestId, table, identity, acceptedAt }, scopeOf, late);
      return { requestId, completed: false };
    }

    const results = await Promise.all(
      batch.map(({ item, value, issue }, index) =>
        value === undefined ? { issue: { ...issue, path: item.place(issue.path) } } : accept(value, ids?.[index]),
      ),
    );
    memory.progressed();
    yield results;
  }
  await run?.finish(FINISHED);
}

/** Expands the scopes of a batch, a few at once. Other requests run in between. */
function limitedScopes(
  dependencies: AcceptManyDependencies,
  memory: Reservation,
): (hash: IdentityHash) => Promise<DeletionScope> {
  const expand = groupedCalls(
    async ([hash]: readonly IdentityHash[]) => {
      await yieldWhenDue();
      return expandScope(dependencies, hash as IdentityHash, memory);
    },
    { most: 1, atOnce: MAX_CONCURRENT_SCOPES },
  );
  return (hash) => expand([hash]);
}
