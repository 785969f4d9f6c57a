import type { Changes } from "../../metrics/changes.js";
import type { Tell } from "./remote-writes.js";

/** News of writes in a process that alone writes its series: nobody else has to be told, and nothing is ever missed. */
export function loneChanges(): Changes {
  const listeners: Tell[] = [];
  return {
    async announce(phase, windows) {
      for (const listener of listeners) listener(phase, windows);
    },
    listen(listener) {
      listeners.push(listener);
    },
    era: () => 0,
  };
}
