/** The parts of `/metrics` that the views need. */
export interface ServiceMetrics {
  readonly stores: readonly { readonly name: string; readonly state: string }[];
  /** Sum of all samples with this name; undefined without one. */
  value(name: string): number | undefined;
}

/** Reads Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export function readServiceMetrics(text: string): ServiceMetrics {
  const sums = new Map<string, number>();
  const stores: { name: string; state: string }[] = [];
  for (const [, name = "", labels = "", value = ""] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)) {
    sums.set(name, (sums.get(name) ?? 0) + Number(value));
    if (name !== "entity_metrics_store_state" || value !== "1") continue;
    const label = (key: string) => new RegExp(`${key}="([^"]*)"`).exec(labels)?.[1] ?? "";
    stores.push({ name: label("store"), state: label("state") });
  }
  return { stores, value: (name) => sums.get(`entity_metrics_${name}`) ?? sums.get(name) };
}
