import type { Clock } from "../../src/clock.js";
import { openLog } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { evaluatingRecorder } from "../../src/metrics/alerts/evaluate.js";
import { type AlertReceiver, alertNotifier } from "../../src/metrics/alerts/notify.js";
import { type AlertSetting, alertRules } from "../../src/metrics/alerts/rule.js";
import { Generations } from "../../src/metrics/cache/generations.js";
import { uncachedSlots } from "../../src/metrics/cache/uncached-slots.js";
import type { Recorder } from "../../src/metrics/recorder/recorder.js";
import type { Stores } from "../../src/stores/stores.js";
import { type Around, portThrough } from "../support/held-calls.js";

export const HOUR = 3_600_000;

/** The ports that alerts use. */
export type AlertStores = Pick<Stores, "facts" | "lease" | "series">;

export interface AlertProcess {
  /** Evaluates and sends until nothing is left. */
  run(): Promise<void>;
}

interface ProcessOptions {
  readonly clock: Clock;
  readonly owner: string;
  readonly rules: readonly AlertSetting[];
  readonly receiver?: AlertReceiver;
  /** Saves counts before an evaluation. */
  readonly recorder?: Recorder;
  /** Wraps each call of a port. */
  readonly around?: Around;
}

/** The work on alerts of one process over these stores. */
export function alertProcess(
  stores: AlertStores,
  { clock, owner, receiver, ...options }: ProcessOptions,
): AlertProcess {
  const { around = (call) => call() } = options;
  const through = <T extends object>(port: T): T => portThrough(port, around);
  const { series } = stores;
  const generations = new Generations(series.chunkSlots, { exclusive: true });
  const memory = new MemoryBudget(1 << 28);
  const { lease } = through({ lease: () => stores.lease("recorder", owner, clock(), clock() + 5_000) });
  const shared = { lease, clock, facts: through(stores.facts), log: openLog("silent") };
  const recorder = evaluatingRecorder(options.recorder ?? { tick: async () => false }, {
    ...shared,
    rules: alertRules(options.rules, undefined),
    series: through({ list: series.list }),
    slots: uncachedSlots({ store: through({ read: series.read }), generations, memory, deadlineMs: 60_000 }),
    isNotifying: receiver !== undefined,
  });
  const sent = receiver && { ...receiver, ...through({ notify: receiver.notify }) };
  const notify = sent && alertNotifier({ ...shared, receiver: sent });
  return {
    async run() {
      while (await recorder.tick());
      while (await notify?.());
    },
  };
}

/** A receiver that stores what it received, and fails when `problem` returns a text. */
export function receiverOf(
  received: Notification[],
  problem: () => string | undefined = () => undefined,
): AlertReceiver {
  return {
    async notify(body) {
      const failure = problem();
      if (failure === undefined) received.push(body as Notification);
      return failure;
    },
    retryDelay: (attempts) => Math.min(900_000, 250 * 2 ** attempts),
    longestDelayMs: 900_000,
  };
}

export interface Notification {
  readonly id: string;
  readonly state: "firing" | "resolved";
  readonly name: string;
  readonly dimension_id: string;
  readonly since: string;
  readonly resolved_at: string | null;
}
