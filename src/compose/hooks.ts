import { singleFlight } from "../async/single-flight.js";
import type { SendEvents } from "../deletions/targets/hook.js";
import { timeText } from "../formats/instant.js";
import { hookStates } from "../hooks/hook-states.js";
import { HOOK_LEASE_MS, hookSender } from "../hooks/sender.js";
import { hookRoutes } from "../http/hooks/index.js";
import { workerLease } from "../metrics/recorder/recorder.js";
import type { composeProfiles } from "./profiles.js";
import type { SharedDependencies } from "./shared.js";

/** Connects sending hooks who joined and left segments. */
export function composeHooks(
  { settings: { hooks }, stores, clock, memory, tables, meters, log, failpoint }: SharedDependencies,
  { opening }: ReturnType<typeof composeProfiles>,
  calls: ReadonlyMap<string, SendEvents>,
) {
  const { outbox, facts } = stores;
  const lease = workerLease({ clock, lease: stores.lease }, "hooks", HOOK_LEASE_MS);
  const shared = { hooks, clock, memory, tables, log, failpoint, calls };
  const { start, stop } = hookSender({ ...stores, ...opening, ...shared, lease });

  const read = singleFlight(async () => {
    const states = await hookStates(facts);
    const statusOf = async ({ name, segments }: (typeof hooks)[number]) => {
      const { waiting, oldest } = await outbox.count(name);
      const { takenAt, problem = null } = states[name] ?? {};
      const lag_seconds = oldest === undefined ? 0 : Math.max(0, clock() - oldest) / 1000;
      const last_answer_at = takenAt === undefined ? null : timeText(takenAt);
      return { name, segments: [...segments], waiting, lag_seconds, last_answer_at, problem };
    };
    return Promise.all(hooks.map(statusOf));
  });
  type Status = Awaited<ReturnType<typeof read>>[number];
  const gauge = (name: string, help: string, amount: (status: Status) => number) => {
    const values = async () =>
      (await read()).map((status) => ({ labels: { hook: status.name }, value: amount(status) }));
    meters.gauge(name, help, values, ["hook"]);
  };
  const answeredAt = ({ last_answer_at: at }: Status) => (at === null ? 0 : Date.parse(at) / 1000);
  gauge("hook_lag_seconds", "Age of the oldest change that a hook has not taken.", (status) => status.lag_seconds);
  gauge("hook_waiting", "Changes that a hook has not taken.", ({ waiting }) => waiting);
  gauge("hook_answered_seconds", "Time of the last 2xx of a hook, epoch seconds; 0 before the first.", answeredAt);

  return { start, stop, routes: hookRoutes({ read }) };
}
