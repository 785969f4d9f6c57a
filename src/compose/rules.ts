import { randomUUID } from "node:crypto";
import type { Background } from "../async/retry.js";
import { ruleWalker } from "../entities/decide/rule-walker.js";
import { runRecorder, workerLease } from "../metrics/recorder/recorder.js";
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
    lease: workerLease({ clock, lease, owner: randomUUID() }, "rules"),
    damaged(entity) {
      countDamaged();
      log.error({ entity }, "a profile is damaged; rules decide nothing about it");
    },
  });

  return {
    start(): Background {
      const help = {
        computing: "Segments whose changed rule has not decided every profile.",
        left: "Profiles that the changed rules of a table have not decided.",
        lag: "Seconds since the longest due profile was due for a decision.",
      };
      meters.gauge("rules_computing", help.computing, () => walker.progress().computing);
      meters.gauge("rules_left", help.left, () => walker.progress().left);
      meters.gauge("rules_due_lag_seconds", help.lag, () => walker.lag() / 1000);
      return runRecorder(walker, tickMs, log, "the decisions of rules");
    },
  };
}
