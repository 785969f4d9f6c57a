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
  const running = new Set<Promise<void>>();
  let run: ((requestId: string) => Promise<void>) | undefined;

  return {
    send(requestId) {
      setImmediate(async () => {
        const underWay = run?.(requestId).catch(() => {});
        if (underWay === undefined) return;
        running.add(underWay);
        await underWay;
        running.delete(underWay);
      });
    },

    listen(listener) {
      run = listener;
    },

    async close() {
      run = undefined;
      await Promise.all(running);
    },
  };
}
