import type { Background } from "../async/retry.js";
import { MAX_WAIT_MS, retryDelay } from "../deletions/deletion.js";
import { TargetError, type Webhook } from "../deletions/ports.js";
import { retentionMs } from "../formats/duration.js";
import { storedAlerts } from "../metrics/alerts/alert.js";
import { evaluatingRecorder } from "../metrics/alerts/evaluate.js";
import { type AlertReceiver, alertNotifier } from "../metrics/alerts/notify.js";
import { alertRules } from "../metrics/alerts/rule.js";
import { ALERTS } from "../metrics/ports.js";
import { runRecorder, watchRecorder } from "../metrics/recorder/recorder.js";
import type { composeSeries } from "./series.js";
import type { SharedDependencies } from "./shared.js";

/** Interval of checks for pending notifications, ms. */
const NOTIFY_EVERY_MS = 2_000;

/** Connects the recorder, which evaluates alerts if there are any, and their notifications. */
export function composeRecorder(
  { settings, stores, clock, meters, log }: SharedDependencies,
  { recorder, lease, fewSlots }: Pick<ReturnType<typeof composeSeries>, "recorder" | "lease" | "fewSlots">,
  webhook: Webhook | undefined,
  tickMs: number,
) {
  const rules = alertRules(settings.alerts, retentionMs(settings.metrics.retention));
  const { facts, series } = stores;
  const shared = { facts, lease, clock, log };

  return {
    /** Without rules, the alerts of earlier ones end, and are removed in time. */
    async start(): Promise<Background[]> {
      const isUsed = rules.length > 0 || storedAlerts(await facts.text(ALERTS)).alerts.length > 0;
      const evaluation = { ...shared, rules, series, slots: fewSlots, isNotifying: webhook !== undefined };
      const evaluating = isUsed ? evaluatingRecorder(recorder, evaluation) : recorder;
      const running = [runRecorder(watchRecorder(evaluating, clock, meters), tickMs, log)];
      if (!isUsed || webhook === undefined) return running;
      const tick = alertNotifier({ ...shared, receiver: receiverAt(webhook) });
      return [...running, runRecorder({ tick }, NOTIFY_EVERY_MS, log, "the notification of alerts")];
    },
  };
}

/** The webhook of deletions, with its retry times. */
function receiverAt(webhook: Webhook): AlertReceiver {
  return {
    async notify(body) {
      try {
        await webhook.send(body);
        return undefined;
      } catch (error) {
        if (error instanceof TargetError) return error.message;
        throw error;
      }
    },
    retryDelay: (attempts) => retryDelay(attempts, true),
    longestDelayMs: MAX_WAIT_MS,
  };
}
