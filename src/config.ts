import { checkSettings } from "./config/check.js";
import { fromEnvironment } from "./config/environment.js";
import { readJson } from "./config/read-json.js";
import { defaultSettings } from "./config/setting-schema.js";
import { StartError } from "./errors.js";

/** Every setting, as `config/schema.json` describes it. Times are ms, sizes bytes, `keep` a duration or null for ever. */
export interface Settings {
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly trust_proxy: boolean;
    readonly key_in_query: boolean;
    readonly cors: { readonly origins: readonly string[] };
    readonly slow_sender_ms: number;
    readonly slow_reader_ms: number;
    readonly drain_ms: number;
  };
  readonly data_dir: string;
  readonly tables_file: string | null;
  readonly roles: readonly ("api" | "worker")[];
  readonly log: { readonly level: string };
  readonly pepper: string | null;
  readonly admin_key: string | null;
  readonly entities: { readonly url: string };
  readonly metrics: { readonly url: string; readonly token: string | null; readonly keep: string | null };
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
  readonly inflation: number;
  readonly entity_segments: number;
  readonly batch_series: number;
  readonly buckets: number;
  readonly answer_values: number;
  readonly answer_slots: number;
  readonly read_bytes: number;
  readonly batch_points: number;
  readonly store_deadline_ms: number;
  readonly requests_per_key: number;
  readonly requests: number;
  readonly unsent_bytes: number;
  readonly wrong_keys_per_minute: number;
  readonly rate_per_key: number | null;
}

export interface RemoteTargetSettings {
  readonly name: string;
  readonly url: string;
  readonly token: string;
}

/** The settings of this process: the defaults of `config/schema.json`, the file named by `CONFIG`, then the environment. Throws a `StartError`. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const own = environment.CONFIG === undefined || environment.CONFIG === "" ? {} : readFile(environment.CONFIG);
  const settings = laidOver(laidOver(defaultSettings(), own), fromEnvironment(environment));
  checkSettings(settings);
  const known = settings as unknown as Settings;
  if (known.pepper !== null && Buffer.byteLength(known.pepper) < 32) {
    throw new StartError("pepper (PEPPER) is wrong: it is too short. Allowed: at least 32 bytes");
  }
  return known;
}

type Tree = Record<string, unknown>;

function readFile(path: string): Tree {
  const tree = readJson("CONFIG", path);
  if (!isTree(tree)) throw new StartError(`CONFIG names ${path}, which is not a JSON object`);
  return tree;
}

/** `over` on top of `under`: objects are united, everything else is replaced. */
function laidOver(under: Tree, over: Tree): Tree {
  const result = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = result[name];
    result[name] = isTree(below) && isTree(value) ? laidOver(below, value) : value;
  }
  return result;
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
