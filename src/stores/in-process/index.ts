import type { JobEngine } from "../stores.js";
import { inProcessWakeUp } from "./wake-up.js";

/** Wake-up calls for a service that is one process. */
export function openInProcess(): JobEngine {
  return {
    wakeUp: inProcessWakeUp(),
    wakeUpOutlives: false,
    probes: [],
    failureOf: () => undefined,
    close: async () => {},
  };
}
