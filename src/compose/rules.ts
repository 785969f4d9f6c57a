import type { Background } from "../async/retry.js";
import { singleFlight } from "../async/single-flight.js";
import { ruleProgress } from "../catalogue/rule-progress.js";
import { ruleWalker } from "../entities/decide/rule-walker.js";
import { runRecorder, workerLease } from "../metrics/recorder/recorder.js";
import { walkPlace } from "../segments/walk-place.js";
import type { composeProfiles } from "./profiles.js";
import type { SharedDependencies } from "./shared.js";

/** Connects the decisions of rules about stored profiles: by time, and after a rule has changed. */
export function composeRules(
  { stores, clock, memory, meters, log }: SharedDependencies,
  { countDamaged, ...deciding }: ReturnType<typeof composeProfiles>["deciding"],
  tickMs: number,
) {
  const { lease, ...ports } = stores;
  const walker = ruleWalker({
    ...ports,
    ...deciding,
    clock,
    memory,
    lease: workerLease({ clock, lease }, "rules"),
    damaged(entity, err) {
      countDamaged();
      log.error({ entity, err }, "a profile is damaged; rules decide nothing about it");
    },
  });
  const { catalogue, facts, entities } = stores;
  const progress = () =>
    ruleProgress({ catalogue, walkPlace: (table) => walkPlace(facts, table), countProfiles: entities.count });

  const computing = singleFlight(async () => [...(await progress()).values()]);
  const left = async () => Math.max(0, ...(await computing()).map(({ done, of }) => of - done));
  const help = {
    computing: "Segments that are computing.",
    left: "Profiles that are not decided about the segment with most of them.",
    lag: "Seconds since the longest due profile was due for a decision.",
  };
  meters.gauge("rules_computing", help.computing, async () => (await computing()).length);
  meters.gauge("rules_left", help.left, left);

  return {
    progress,
    start(): Background {
      meters.gauge("rules_due_lag_seconds", help.lag, () => walker.lag() / 1000);
      return runRecorder(walker, tickMs, log, "the decisions of rules");
    },
  };
}
