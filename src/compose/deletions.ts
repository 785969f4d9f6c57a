import { observeDeletions } from "../deletions/observe.js";
import { receipts } from "../deletions/receipt.js";
import { replayLedger } from "../deletions/replay.js";
import { scheduler } from "../deletions/scheduler.js";
import { hookCalls, hookTarget, type SendEvents } from "../deletions/targets/hook.js";
import { downstreamTargets } from "../deletions/targets/index.js";
import { webhookAt } from "../deletions/webhook.js";
import { durationMs, retentionMs } from "../formats/duration.js";
import { deletionRoutes } from "../http/deletions/index.js";
import type { composeProfiles } from "./profiles.js";
import type { SharedDependencies } from "./shared.js";

/**
 * Connects accepting deletions, and running them through every place that stores data. `stop` also ends the calls to
 * remote targets.
 */
export function composeDeletions(
  { settings, stores, clock, arrivalClock, version, tables, meters, log, failpoint }: SharedDependencies,
  { hashIdentity, hashRequest, opening }: ReturnType<typeof composeProfiles>,
) {
  const { ledger, entities, entityKeys, facts, history, memberships, outbox, dueNotifications } = stores;
  const { hooks } = settings;
  const { targets: remote, retention, due } = settings.deletions;
  const stopping = new AbortController();
  const signed = receipts({ ledger, pepper: stores.pepper, version });
  const told = { clock, sign: signed.signOnly, stopping: stopping.signal };
  const calls = new Map(hooks.map((hook) => [hook.name, hookCalls(hook, told)]));
  const hookTargets = hooks.map((hook) =>
    hookTarget(hook, calls.get(hook.name) as SendEvents, { outbox, entities, clock }),
  );
  const dependencies = {
    ...opening,
    ledger,
    entities,
    entityKeys,
    facts,
    history,
    dueNotifications,
    outbox,
    hooks,
    targets: downstreamTargets({
      ...{ memberships, history, outbox, remote, failpoint, stopping: stopping.signal },
      hooks: hookTargets,
    }),
    webhook: settings.webhook === null ? undefined : webhookAt(settings.webhook, signed, { stopping: stopping.signal }),
    tables,
    hashIdentity,
    hashRequest,
    idempotency: stores.repeatedDeletions,
    arrivalClock,
    clock,
    log,
    observer: observeDeletions(meters, ledger, clock),
    failpoint,
    retentionMs: retentionMs(retention),
    // Each poll of a shared ledger queries a server.
    pollMs: stores.sharedGenerations === undefined ? 1_000 : 2_000,
  };
  const runs = scheduler(dependencies);

  return {
    replay: () => replayLedger(dependencies),
    start: runs.start,
    webhook: dependencies.webhook,
    calls,
    routes: deletionRoutes({
      ...dependencies,
      limits: settings.limits,
      dueMs: durationMs(due),
      receipts: signed,
    }),
    async stop() {
      stopping.abort();
      await runs.stop();
    },
  };
}
