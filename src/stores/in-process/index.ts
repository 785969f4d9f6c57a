import type { JobEngine } from "../stores.js";
import { inProcessChanges } from "./changes.js";
import { inProcessWakeUp } from "./wake-up.js";

/** Wake-up calls and news for a service that is one process: the recorder's own timer is tick enough. */
export function openInProcess(): JobEngine {
  return {
    wakeUp: inProcessWakeUp(),
    wakeUpOutlives: false,
    ticks: { listen: () => {}, close: async () => {} },
    changes: inProcessChanges(),
    probes: [],
    failureOf: () => undefined,
    close: async () => {},
  };
}
