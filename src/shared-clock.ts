import { type Background, inBackground } from "./async/retry.js";
import { withTimeLimit } from "./async/time-limit.js";
import type { Clock } from "./clock.js";
import type { Log } from "./log.js";
import { NotReady, type Probe } from "./meters.js";

/**
 * The clock of the shared server, if those of processes differ: for schedules, leases, the slots of the recorder, and
 * for times that are shown or compared with times that clients name. It does not order writes.
 */
interface SharedClock {
  /**
   * Returns the local time, or the last measured time of the server if the two differ by more than a second. Unix ms.
   */
  readonly now: Clock;
  /** Not ready while the local clock is wrong by more than a minute. */
  readonly probe: Probe;
  /** Resolves after a first measurement; measures hourly from then on, and logs a difference of more than a second. */
  watch(log: Pick<Log, "warn">): Promise<Background>;
}

/** Tolerated difference, ms: NTP keeps clocks closer, and a measurement is as inexact as its call takes. */
const TOLERATED_MS = 1_000;
const NOT_READY_MS = 60_000;
const EVERY_MS = 3_600_000;
/** Maximum wait of `/ready` for a measurement: an unreachable server has its own probe. */
const PROBE_MS = 1_000;

/**
 * `machine` is the clock of this machine. Without `serverTime` (Unix ms) no other process uses the stores, and no
 * comparison is needed.
 */
export function sharedClock(
  clock: Clock,
  machine: Clock,
  serverTime: () => Promise<number> = async () => machine(),
): SharedClock {
  let correction = 0;

  /** Measures the lead of the local clock, ms; negative: behind. The duration of the call is left out. */
  async function compare(): Promise<number> {
    const before = machine();
    const server = await serverTime();
    const after = machine();
    const aheadMs = before > server ? before - server : Math.min(0, after - server);
    correction = Math.abs(aheadMs) > TOLERATED_MS ? (before + after) / 2 - server : 0;
    return aheadMs;
  }

  return {
    now: () => clock() - correction,

    probe: {
      name: "clock",
      required: true,
      async check() {
        const aheadMs = await withTimeLimit(PROBE_MS, [], compare).catch(() => 0);
        if (Math.abs(aheadMs) > NOT_READY_MS) throw new NotReady(`The clock of this process is ${words(aheadMs)}`);
        return undefined;
      },
    },

    async watch(log) {
      // Calls that need the server report that it is unreachable.
      const compared = () => compare().catch(() => 0);
      const measure = async () => {
        const aheadMs = await compared();
        if (Math.abs(aheadMs) > TOLERATED_MS) log.warn({ aheadMs }, `the clock of this process is ${words(aheadMs)}`);
        return EVERY_MS;
      };
      await compared();
      return inBackground(measure, { ref: false });
    },
  };
}

function words(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? "ahead of" : "behind"} the clock of the server: run NTP`;
}
