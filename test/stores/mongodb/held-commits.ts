import type { Hook } from "../../../src/entities/outbox.js";
import type { EntityStore } from "../../../src/entities/ports.js";
import { promised } from "../../../src/stores/mongodb/connection.js";
import { keyWrapping } from "../../../src/stores/mongodb/profiles/entity-keys.js";
import { mongoEntityStore } from "../../../src/stores/mongodb/profiles/entity-store.js";
import { type Transact, transactions } from "../../../src/stores/mongodb/transaction.js";
import type { HeldCalls } from "../../support/held-calls.js";
import type { TestEngine } from "./engine.js";

/** Returns the profiles of an engine. A commit that has done its work waits in `calls` as "commit". */
export function heldCommits(
  { client, name, stores: { pepper } }: TestEngine,
  calls: HeldCalls,
  hooks: readonly Hook[] = [],
): EntityStore {
  const transact = transactions(client, 10_000);
  const held: Transact = (work) =>
    transact(async (session) => {
      const result = await work(session);
      await calls.around(async () => {}, "commit");
      return result;
    });
  return mongoEntityStore({
    data: client.db(name, promised),
    ledger: client.db(`${name}_ledger`, promised),
    deadlineMs: 10_000,
    wrapping: keyWrapping(pepper),
    hooks,
    transact: held,
  });
}
