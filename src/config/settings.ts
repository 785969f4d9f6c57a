import { readFileSync } from "node:fs";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { StartError } from "../errors.js";
import { jsonErrorAt, positionAfter } from "../formats/json-error.js";
import { meantWord } from "../text.js";
import {
  allowedWords,
  defaultSettings,
  type SchemaSettings,
  type Setting,
  type SettingSchema,
  settingList,
  settingsSchema,
  settingTree,
} from "./schema.js";

/** Roles of a process: `api` serves requests; `worker` records and erases. */
export const roles = ["api", "worker"] as const;

export type Role = (typeof roles)[number];

/**
 * All settings of `config/schema.json`. Times are ms, sizes bytes; `retention` is a duration, or null for unlimited.
 */
export type Settings = Omit<SchemaSettings, "roles"> & { readonly roles: readonly Role[] };

export type Limits = Settings["limits"];

/**
 * Reads the settings: the defaults of `config/schema.json`, the file in `CONFIG`, then the environment. Calls `retired`
 * with the names of settings that do not exist any more. Throws a `StartError`.
 */
export function readSettings(environment: Environment, retired: (name: string) => void = () => {}): Settings {
  const file = fileOf(environment);
  refuseFormerNames(environment, file);
  for (const name of RETIRED) {
    const variable = name.replace(".", "_").toUpperCase();
    if (environment[variable] !== undefined) retired(variable);
    if (removeSetting(file, name)) retired(name);
  }
  const settings = merged(merged(defaultSettings(), file), fromEnvironment(environment));
  checkSettings(settings);
  const known = settings as unknown as Settings;
  if (known.pepper !== null && Buffer.byteLength(known.pepper) < 32) {
    throw new StartError("pepper (PEPPER) is wrong: it is too short. Allowed: at least 32 bytes");
  }
  return known;
}

type Tree = Record<string, unknown>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of earlier versions, which are constants or part of another setting now: they are ignored. */
const RETIRED = [
  "cache.columns_bytes",
  "cache.responses_bytes",
  "http.slow_reader_ms",
  "http.slow_sender_ms",
  "limits.buckets",
  "limits.entity_segments",
  "limits.header_bytes",
  "limits.identity_bytes",
  "limits.inflation",
  "limits.line_bytes",
  "limits.nesting",
  "limits.query_parameters",
  "limits.response_slots",
  "limits.url_bytes",
  "limits.wrong_keys_per_minute",
  "recorder.tick_ms",
];

/** Removes a setting of a file; returns whether it was there. */
function removeSetting(file: Tree, full: string): boolean {
  const [group, name] = full.split(".") as [string, string];
  const settings = file[group];
  if (!isTree(settings) || !Object.hasOwn(settings, name)) return false;
  delete settings[name];
  if (Object.keys(settings).length === 0) delete file[group];
  return true;
}

/** Refuses the former name of a setting: without it, the service would drop notifications. */
function refuseFormerNames(environment: Environment, { deletions }: Tree): void {
  const isInFile = isTree(deletions) && Object.hasOwn(deletions, "webhook");
  if (environment.DELETIONS_WEBHOOK === undefined && !isInFile) return;
  throw new StartError("deletions.webhook (DELETIONS_WEBHOOK) has another name now: webhook (WEBHOOK)");
}

/** Returns the settings in the file that CONFIG names. */
function fileOf({ CONFIG: path }: Environment): Tree {
  if (path === undefined || path === "") return {};
  const tree = readJson("CONFIG", path);
  if (!isTree(tree)) throw new StartError(`CONFIG names ${path}, which is not a JSON object`);
  return tree;
}

/**
 * Merges `over` into `under`: objects are merged, other values are replaced. Any name is an ordinary key, also
 * `__proto__`.
 */
function merged(under: Tree, over: Tree): Tree {
  const united = Object.entries(over).map(([name, value]) => {
    const below = Object.hasOwn(under, name) ? under[name] : undefined;
    return [name, isTree(below) && isTree(value) ? merged(below, value) : value] as const;
  });
  return Object.fromEntries([...Object.entries(under), ...united]);
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads the JSON file named by the setting `name`. Throws a `StartError` that does not quote the file, which may
 * contain secrets.
 */
export function readJson(name: string, path: string | URL): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    throw new StartError(`${name} names ${path}, which cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    const { line, column } = positionAfter(text.slice(0, jsonErrorAt(text)));
    throw new StartError(`${name} names ${path}, which is not JSON: line ${line}, column ${column}`);
  }
}

// The schema is valid, as its test shows: a start need not check that.
const ajv = new Ajv2020({ validateSchema: false, allowUnionTypes: true });
ajv.addVocabulary(["environment", "secret"]);
const valid = ajv.compile(settingsSchema);

/** Throws a one-line `StartError` with the first wrong setting, its issue and the allowed values. */
function checkSettings(settings: unknown): void {
  if (!valid(settings)) throw new StartError(wordsFor((valid.errors as ErrorObject[])[0] as ErrorObject, settings));
}

function wordsFor(error: ErrorObject, settings: unknown): string {
  const path = error.instancePath.split("/").slice(1);
  if (error.keyword === "additionalProperties")
    return unknownWords(path, String(error.params.additionalProperty), nameOf(path, settings));
  const setting = settingList.find(({ path: own }) => own.every((name, index) => path[index] === name));
  if (setting === undefined) return `The settings are wrong: ${path.join(".") || "the whole"} ${error.message}`;
  const what =
    error.keyword === "required" ? `lacks ${error.params.missingProperty}` : (issues[error.keyword] ?? error.message);
  const subject = `${subjectOf(path.slice(setting.path.length))}${nameOf(path, settings)}`;
  return `${setting.name} (${setting.environment}) is wrong: ${subject} ${what}. Allowed: ${allowedWords(setting.schema)}. ${setting.schema.description}`;
}

/** Issue of a value by the schema keyword that it violates; for other keywords Ajv's message is used. */
const issues: Readonly<Record<string, string>> = {
  enum: "is not an allowed value",
  minItems: "is empty",
  minLength: "is empty",
  pattern: "does not match the expected form",
  uniqueItems: "contains a value twice",
};

/** Names the part of a setting at this path. */
function subjectOf(path: readonly string[]): string {
  if (path.length === 0) return "it";
  return path.length === 1 && /^\d+$/.test(path[0] ?? "")
    ? `entry ${Number(path[0]) + 1} of it`
    : `its ${path.join(".")}`;
}

/** Returns the name of the entry of a list that contains this path, in parentheses. */
function nameOf(path: readonly string[], settings: unknown): string {
  const depth = path.findLastIndex((step) => /^\d+$/.test(step)) + 1;
  const entry = path.slice(0, depth).reduce<unknown>((value, step) => (value as Tree)[step], settings);
  const name = depth === 0 ? undefined : (entry as Tree | null)?.name;
  return typeof name === "string" ? ` (${JSON.stringify(name.slice(0, 128))})` : "";
}

function unknownWords(path: readonly string[], name: string, entry: string): string {
  const full = [...path, name].join(".");
  const level = path.reduce<SettingSchema | undefined>(
    (schema, step) => schema?.properties?.[step] ?? schema?.items,
    settingsSchema,
  );
  return `${full} is not a setting${entry}. Allowed here: ${Object.keys(level?.properties ?? {}).join(", ")}`;
}

/**
 * Returns the settings in the environment, to merge over the others. Lists of words are separated by commas, objects
 * and lists of them are JSON, and an empty value of a nullable setting is null.
 */
function fromEnvironment(environment: Environment): Record<string, unknown> {
  return settingTree(
    settingList.flatMap((setting) => {
      const text = environment[setting.environment];
      return text === undefined ? [] : [[setting, parsed(setting, text)] as const];
    }),
  );
}

function parsed(setting: Setting, text: string): unknown {
  const { schema } = setting;
  const types = schema.enum !== undefined ? ["string"] : [schema.type ?? []].flat();
  if (types.includes("null") && (text === "" || text === "null")) return null;
  if (types.includes("integer")) return /^\d{1,15}$/.test(text) ? Number(text) : refuse(setting);
  if (types.includes("boolean")) return text === "true" ? true : text === "false" ? false : refuse(setting);
  if (types.includes("object") || schema.items?.type === "object") return jsonOf(setting, text);
  if (types.includes("array")) return wordsOf(text);
  return text;
}

function wordsOf(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function jsonOf(setting: Setting, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse(setting);
  }
}

function refuse({ environment, schema }: Setting): never {
  throw new StartError(`${environment} is wrong. Allowed: ${allowedWords(schema)}. ${schema.description}`);
}

/** Returns environment variables that are not settings but probably mean one, with that setting's name. */
export function similarNames(environment: Environment): { name: string; nearest: string }[] {
  const ours = ["CONFIG", ...settingList.map((setting) => setting.environment)];
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || ours.includes(name)) return [];
    const nearest = meantWord(name, ours);
    return nearest === undefined ? [] : [{ name, nearest }];
  });
}
