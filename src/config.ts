import { readFileSync } from "node:fs";
import type { Scope } from "./keys/api-key.js";

/** Every setting, as `config/schema.json` describes it. Times are ms, sizes bytes, `keep` a duration or null for ever. */
export interface Settings {
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly trust_proxy: boolean;
    readonly key_in_query: boolean;
    readonly cors: { readonly origins: readonly string[] };
    readonly slow_sender_ms: number;
    readonly drain_ms: number;
  };
  readonly data_dir: string;
  readonly roles: readonly ("api" | "worker")[];
  readonly log: { readonly level: string };
  readonly pepper: string | null;
  readonly admin_key: string | null;
  readonly entities: { readonly url: string };
  readonly metrics: { readonly url: string; readonly keep: string | null };
  readonly jobs: { readonly url: string };
  readonly history: { readonly keep: string | null };
  readonly deletions: { readonly keep: string | null; readonly targets: readonly RemoteTargetSettings[] };
  readonly limits: Limits;
  readonly cache: { readonly columns_bytes: number; readonly answers_bytes: number };
  readonly recorder: { readonly tick_ms: number };
}

export interface Limits {
  readonly url_bytes: number;
  readonly header_bytes: number;
  readonly identity_bytes: number;
  readonly query_parameters: number;
  readonly nesting: number;
  readonly body_bytes: number;
  readonly write_body_bytes: number;
  readonly line_bytes: number;
  readonly batch_series: number;
  readonly buckets: number;
  readonly answer_values: number;
  readonly answer_slots: number;
  readonly batch_points: number;
  readonly store_deadline_ms: number;
  readonly requests_per_key: number;
  readonly requests: number;
  readonly wrong_keys_per_minute: number;
  readonly rate_per_key: number | null;
}

export interface RemoteTargetSettings {
  readonly name: string;
  readonly url: string;
  readonly token: string;
}

export type { Scope };

/** The settings of this process: `config/default.json`, the file named by `CONFIG`, then the environment. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const settings = JSON.parse(readFileSync(new URL("../config/default.json", import.meta.url), "utf8")) as Settings;
  return {
    ...settings,
    http: { ...settings.http, host: environment.HOST ?? settings.http.host, port: Number(environment.PORT ?? settings.http.port) },
    data_dir: environment.DATA_DIR ?? settings.data_dir,
    admin_key: environment.ADMIN_KEY ?? settings.admin_key,
    pepper: environment.PEPPER ?? settings.pepper,
    log: { level: environment.LOG_LEVEL ?? settings.log.level },
  };
}
