import { type Background, inBackground } from "./async/retry.js";
import { withTimeLimit } from "./async/time-limit.js";
import type { Clock } from "./clock.js";
import type { Log } from "./log.js";
import type { Probe } from "./meters.js";

/**
 * The time of the service: for schedules, leases, the slots of the recorder, and for times that are shown or compared
 * with times that clients name. It does not order writes.
 */
export interface ServiceClock {
  /** Returns the time of the machine, or of the followed server if the two differ by more than a second. Unix ms. */
  readonly now: Clock;
  /** Starts to correct `now` by the clock of a server that processes share. `serverTime` returns its Unix ms. */
  follow(serverTime: () => Promise<number>): FollowedClock;
}

/** The comparison of the machine's clock with the server's. */
interface FollowedClock {
  /** Degraded while the clock of the machine is wrong by more than a minute: `now` is corrected. */
  readonly probe: Probe;
  /** Resolves after a first measurement; measures hourly from then on, and logs a difference of more than a second. */
  watch(log: Pick<Log, "warn">): Promise<Background>;
}

/** Tolerated difference, ms: NTP keeps clocks closer, and a measurement is as inexact as its call takes. */
const TOLERATED_MS = 1_000;
const DEGRADED_MS = 60_000;
const EVERY_MS = 3_600_000;
/** Maximum wait of `/ready` for a measurement: an unreachable server has its own probe. */
const PROBE_MS = 1_000;

/** Derives the clock of the service from its machine's. */
export function serviceClock(machine: Clock): ServiceClock {
  let correction = 0;

  /** Measures the lead of the machine's clock, ms; negative: behind. The duration of the call is left out. */
  async function compare(serverTime: () => Promise<number>): Promise<number> {
    const before = machine();
    const server = await serverTime();
    const after = machine();
    const aheadMs = before > server ? before - server : Math.min(0, after - server);
    correction = Math.abs(aheadMs) > TOLERATED_MS ? (before + after) / 2 - server : 0;
    return aheadMs;
  }

  return {
    now: () => machine() - correction,

    follow: (serverTime) => ({
      probe: {
        name: "clock",
        required: false,
        async check() {
          const aheadMs = await withTimeLimit(PROBE_MS, [], () => compare(serverTime)).catch(() => 0);
          return Math.abs(aheadMs) > DEGRADED_MS ? `The clock of this process is ${words(aheadMs)}` : undefined;
        },
      },

      async watch(log) {
        // Calls that need the server report that it is unreachable.
        const compared = () => compare(serverTime).catch(() => 0);
        const measure = async () => {
          const aheadMs = await compared();
          if (Math.abs(aheadMs) > TOLERATED_MS) log.warn({ aheadMs }, `the clock of this process is ${words(aheadMs)}`);
          return EVERY_MS;
        };
        await compared();
        return inBackground(measure);
      },
    }),
  };
}

function words(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? "ahead of" : "behind"} the clock of the server: run NTP`;
}
