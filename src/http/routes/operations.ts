import type { Meters } from "../../meters.js";
import type { Probe } from "../../probe.js";
import type { Api } from "../api-router.js";
import { succeed } from "../envelope.js";

export interface OperationParts {
  readonly probes: readonly Probe[];
  readonly meters: Meters;
}

/** How long a store may take to say that it is there, ms. */
const PROBE_MS = 2000;

/** What an operator asks: is it alive, can it work, how is it doing. */
export function operationRoutes(api: Api, { probes, meters }: OperationParts): void {
  api.add("GET", "/health", "keyless", (ctx) => {
    ctx.set("Cache-Control", "no-store");
    succeed(ctx, { alive: true });
  });

  api.add("GET", "/ready", "keyless", async (ctx) => {
    const stores = await Promise.all(probes.map(look));
    const ready = stores.every(({ state, required }) => state !== "down" || !required);
    const degraded = stores.some(({ state }) => state !== "up");
    ctx.set("Cache-Control", "no-store");
    succeed(ctx, { ready, degraded, stores }, { message: ready ? (degraded ? "degraded" : "success") : "not ready" });
    if (!ready) {
      ctx.status = 503;
      ctx.set("Retry-After", "5");
      ctx.body = { ...(ctx.body as object), status: 503 };
    }
  });

  api.add("GET", "/metrics", ["metric:read"], async (ctx) => {
    const text = await meters.text();
    ctx.set("Content-Type", meters.contentType);
    ctx.set("Cache-Control", "no-store");
    ctx.body = text;
  });
}

interface StoreState {
  readonly name: string;
  readonly required: boolean;
  readonly state: "up" | "degraded" | "down";
  /** What is not as it should be. */
  readonly note?: string;
}

/** A store's state; one that does not answer in time is down. Why it is down is for the logs of the store. */
async function look({ name, required, check }: Probe): Promise<StoreState> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("late")), PROBE_MS);
  });
  try {
    const note = await Promise.race([check(), late]);
    return note === undefined ? { name, required, state: "up" } : { name, required, state: "degraded", note };
  } catch {
    return { name, required, state: "down" };
  } finally {
    clearTimeout(timer);
  }
}
