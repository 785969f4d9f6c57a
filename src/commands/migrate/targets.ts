import { UsageError } from "../run-command.js";

/** URLs of the servers to fill; at least one. */
export interface Targets {
  readonly entities?: string;
  readonly metrics?: string;
}

const kinds = {
  entities: { scheme: /^mongodb(\+srv)?:/, variable: "ENTITIES_URL" },
  metrics: { scheme: /^influxdbs?:/, variable: "METRICS_URL" },
} as const;

/** The targets that `--to` names or, without it, the environment. The scheme tells which is which. */
export function readTargets(
  given: readonly string[] | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Targets {
  const urls =
    given ?? Object.values(kinds).flatMap(({ scheme, variable }) => environment[variable]?.match(scheme)?.input ?? []);
  const targets: { entities?: string; metrics?: string } = {};
  for (const url of urls) {
    const kind = (["entities", "metrics"] as const).find((name) => kinds[name].scheme.test(url));
    if (kind === undefined) throw new UsageError("--to takes mongodb://… for profiles and influxdb://… for series");
    if (targets[kind] !== undefined) throw new UsageError("--to was given twice for the same kind of server");
    targets[kind] = url;
  }
  if (urls.length === 0) {
    throw new UsageError(
      "--to names the servers to copy to: mongodb://…/database, influxdb://…?org=O&bucket=B, or both",
    );
  }
  return targets;
}

/** A URL without what may be secret in it. */
export function publicName(url: string): string {
  const bucket = /[?&]bucket=([^&#]*)/.exec(url)?.[1];
  const place = url.replace(/\/\/[^/]*@/, "//").replace(/[?#].*$/, "");
  return bucket === undefined ? place : `${place} (bucket ${decodeURIComponent(bucket)})`;
}
