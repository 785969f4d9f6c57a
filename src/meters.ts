import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Counters and timers of one service, for `/metrics`; names begin with `entity_metrics_`. */
export interface Meters {
  /** An answered request: its route pattern (never its URL), status, and duration in seconds. */
  request(method: string, route: string, status: number, seconds: number): void;
  /**
   * Returns a new counter; calling it adds `by`, 1 by default. With `label` it counts each value of that label
   * separately.
   */
  counter(name: string, help: string, label?: string): (by?: number, value?: string) => void;
  /**
   * Adds a gauge that is read for each `/metrics`, and left out if it cannot be read. With `labels` it has a value for
   * each combination that is read.
   */
  gauge(name: string, help: string, read: () => Reading | Promise<Reading>, labels?: readonly string[]): void;
  /** Everything in Prometheus' text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Value of a gauge, or one value for each combination of its labels. */
export type Reading = number | readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];

/** A store as `/ready` names it. */
export interface Probe {
  readonly name: string;
  /** Whether the service cannot work without it. */
  readonly required: boolean;
  /** Rejects if the store is unreachable; resolves with a note if it works with a restriction, else with undefined. */
  check(): Promise<string | undefined>;
}

export function openMeters(): Meters {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges named like counters: the sums of the gauges by type, nodejs_active_handles and so on.
  for (const what of ["handles", "requests", "resources"]) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  const requests = new Histogram({
    name: "entity_metrics_http_request_seconds",
    help: "Time from a request's head to the end of its answer.",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });

  return {
    request: (method, route, status, seconds) => requests.observe({ method, route, status }, seconds),

    counter(name, help, label) {
      const labelNames = label === undefined ? [] : [label];
      const counter = new Counter({ name: `entity_metrics_${name}`, help, labelNames, registers: [registry] });
      return (by = 1, value = "") => (label === undefined ? counter.inc(by) : counter.inc({ [label]: value }, by));
    },

    gauge(name, help, read, labelNames = []) {
      new Gauge({
        name: `entity_metrics_${name}`,
        help,
        labelNames: [...labelNames],
        registers: [registry],
        async collect() {
          try {
            const reading = await read();
            if (typeof reading === "number") this.set(reading);
            else for (const { labels, value } of reading) this.set(labels, value);
          } catch {
            this.reset();
            if (labelNames.length === 0) this.remove();
          }
        },
      });
    },

    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
