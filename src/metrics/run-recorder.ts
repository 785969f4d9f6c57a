import type { Log } from "../log.js";
import type { Recorder } from "./recorder.js";

/** After failures it waits longer, up to this, ms. */
const LONGEST_WAIT_MS = 5_000;

/** A recorder at work. */
export interface RunningRecorder {
  /** Resolves when no tick is under way and none will follow. */
  stop(): Promise<void>;
}

/** Ticks the recorder every `tickMs`, never two at once, at once again while more is left, until it is stopped. */
export function runRecorder(recorder: Recorder, tickMs: number, log: Log): RunningRecorder {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let running: Promise<void> = Promise.resolve();

  async function tick(): Promise<void> {
    let wait = tickMs;
    try {
      if (await recorder.tick()) wait = 0;
      failures = 0;
    } catch (error) {
      failures += 1;
      wait = Math.max(tickMs, Math.min(tickMs * 2 ** failures, LONGEST_WAIT_MS));
      log.error({ err: error, failures }, "the recorder failed and will try again");
    }
    if (!stopped) schedule(wait);
  }

  function schedule(wait: number): void {
    timer = setTimeout(start, wait);
  }

  function start(): void {
    running = tick();
  }

  schedule(0);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
