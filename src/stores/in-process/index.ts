import type { DueNotifications } from "../../deletions/ports.js";
import type { JobEngine } from "../stores.js";

/** Opens jobs within this process, for the embedded engine. */
export function openInProcess(): JobEngine {
  return {
    dueNotifications: inProcessDueNotifications(),
    probes: [],
    close: async () => {},
  };
}

/**
 * Due notifications within this process, the only one of the embedded engine. A due notification without a listener is
 * lost.
 */
function inProcessDueNotifications(): DueNotifications {
  let run: ((requestId: string) => Promise<void>) | undefined;

  return {
    send: (requestId) => void setImmediate(() => run?.(requestId)),

    listen(listener) {
      run = listener;
    },

    async close() {
      run = undefined;
    },
  };
}
