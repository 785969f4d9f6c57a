import type { Alert } from "../../client/client.js";
import type { Page } from "../view.js";

/** Maximum alerts of a request. */
const PAGE = 1_000;

/** Returns all alerts that are firing, in one request up to a thousand. */
export async function firingAlerts({ client, signal }: Pick<Page, "client" | "signal">): Promise<Alert[]> {
  const alerts: Alert[] = [];
  for await (const alert of client.alerts({ limit: PAGE }, { signal })) alerts.push(alert);
  return alerts;
}
