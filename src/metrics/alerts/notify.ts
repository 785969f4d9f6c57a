import type { Clock } from "../../clock.js";
import type { Facts } from "../../facts.js";
import { timeText } from "../../formats/instant.js";
import type { Log } from "../../log.js";
import { ALERTS, type LeaseResult } from "../ports.js";
import { type Alert, type AlertEvent, alertFields, storedAlerts } from "./alert.js";

/** PORT. The system that is notified of alerts. */
export interface AlertReceiver {
  /** Resolves with undefined when the system has received the notification, otherwise with the problem. */
  notify(body: object): Promise<string | undefined>;
  /** Returns the ms to wait after this many consecutive failures. */
  retryDelay(attempts: number): number;
  /** Maximum of `retryDelay`, ms. */
  readonly longestDelayMs: number;
}

export interface NotifierDependencies {
  readonly facts: Pick<Facts, "text" | "replaceText">;
  readonly receiver: AlertReceiver;
  /** Takes or renews the lease of the active recorder. */
  lease(): Promise<LeaseResult>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Notifications between two changes of the state: after a crash as many are sent again. */
const BATCH = 20;

/**
 * Sends the pending events of alerts: of one alert in order, and again until they are received. Each call sends a batch
 * up to the first failure, and returns true if more are due.
 */
export function alertNotifier({ facts, receiver, lease, clock, log }: NotifierDependencies): () => Promise<boolean> {
  return async () => {
    if ((await lease()) === "refused") return false;
    const now = clock();
    const due = storedAlerts(await facts.text(ALERTS))
      .alerts.filter(({ pending, notBefore }) => pending.length > 0 && isDue(notBefore, now))
      .sort((a, b) => a.notBefore - b.notBefore);
    const sent = new Map<string, Sent>();
    let hasFailed = false;
    for (const alert of due.slice(0, BATCH)) {
      const event = alert.pending[0] as AlertEvent;
      const problem = await receiver.notify(notificationOf(alert, event));
      const attempts = alert.attempts + 1;
      hasFailed = problem !== undefined;
      sent.set(alert.id, {
        event,
        retry: hasFailed ? { attempts, notBefore: now + receiver.retryDelay(attempts) } : undefined,
      });
      if (!hasFailed) continue;
      log.warn({ alert: alert.id, problem, attempts }, "a notification of an alert failed; retrying later");
      break;
    }
    if (sent.size === 0) return false;
    // Repeated if an evaluation, or the process that took over, has changed the state since.
    while (!(await store(sent)));
    return !hasFailed && due.length > BATCH;
  };

  /** Stores the results; false, with nothing stored, if the state changes concurrently. */
  async function store(sent: ReadonlyMap<string, Sent>): Promise<boolean> {
    const text = await facts.text(ALERTS);
    const current = storedAlerts(text);
    const alerts = current.alerts.map((alert) => after(alert, sent.get(alert.id)));
    return facts.replaceText(ALERTS, text, JSON.stringify({ ...current, alerts }));
  }

  /** A time further ahead than any delay was stored before the clock was set back. */
  function isDue(notBefore: number, now: number): boolean {
    return notBefore <= now || notBefore > now + receiver.longestDelayMs;
  }
}

/** The outcome of an event that was sent; `retry` if it was not received. */
interface Sent {
  readonly event: AlertEvent;
  readonly retry: Pick<Alert, "attempts" | "notBefore"> | undefined;
}

/** Returns the alert after its event was sent, unless another process has sent it since. */
function after(alert: Alert, sent: Sent | undefined): Alert {
  if (sent === undefined || alert.pending[0] !== sent.event) return alert;
  return { ...alert, ...(sent.retry ?? { pending: alert.pending.slice(1), attempts: 0, notBefore: 0 }) };
}

/** The body of a notification: the same for each attempt, so that `id` and `state` identify it. */
function notificationOf(alert: Alert, state: AlertEvent) {
  const resolvedAt = state === "resolved" ? timeText(alert.resolvedAt as number) : null;
  return { type: "alert", state, ...alertFields(alert), resolved_at: resolvedAt };
}
