import { readFileSync } from "node:fs";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { StartError } from "../errors.js";
import { jsonErrorAt, positionAfter } from "../formats/json-error.js";
import { nearestWord } from "../text.js";
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

/** What a process does: answer requests; record and erase. */
export const roles = ["api", "worker"] as const;

export type Role = (typeof roles)[number];

/** Every setting, as `config/schema.json` describes it. Times are ms, sizes bytes, `keep` a duration or null for ever. */
export type Settings = Omit<SchemaSettings, "roles"> & { readonly roles: readonly Role[] };

export type Limits = Settings["limits"];

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

/** `over` on top of `under`: objects are united, everything else is replaced. Any name is a name of its own, `__proto__` too. */
function laidOver(under: Tree, over: Tree): Tree {
  const united = Object.entries(over).map(([name, value]) => {
    const below = Object.hasOwn(under, name) ? under[name] : undefined;
    return [name, isTree(below) && isTree(value) ? laidOver(below, value) : value] as const;
  });
  return Object.fromEntries([...Object.entries(under), ...united]);
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What the JSON file holds that the setting `name` names. Throws a `StartError`, which does not quote the file: it may hold secrets. */
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

const ajv = new Ajv2020({ allowUnionTypes: true });
ajv.addVocabulary(["environment", "secret"]);
const valid = ajv.compile(settingsSchema);

/** Throws a `StartError` of one line that names the first wrong setting, what is wrong with it, and what is allowed. */
function checkSettings(settings: unknown): void {
  if (!valid(settings)) throw new StartError(wordsFor((valid.errors as ErrorObject[])[0] as ErrorObject));
}

function wordsFor(error: ErrorObject): string {
  const path = error.instancePath.split("/").slice(1);
  if (error.keyword === "additionalProperties") return unknownWords(path, String(error.params.additionalProperty));
  const setting = settingList.find(({ path: own }) => own.every((name, index) => path[index] === name));
  if (setting === undefined) return `The settings are wrong: ${path.join(".") || "the whole"} ${error.message}`;
  const what =
    error.keyword === "required" ? `lacks ${error.params.missingProperty}` : (issues[error.keyword] ?? error.message);
  const subject = subjectOf(path.slice(setting.path.length));
  return `${setting.name} (${setting.environment}) is wrong: ${subject} ${what}. Allowed: ${allowedWords(setting.schema)}. ${setting.schema.description}`;
}

/** What is wrong with a value, by the keyword of the schema that it breaks; of other keywords the message of Ajv. */
const issues: Readonly<Record<string, string>> = {
  enum: "is not an allowed value",
  minItems: "is empty",
  minLength: "is empty",
  pattern: "has another form",
  uniqueItems: "contains a value twice",
};

/** The part of a setting with this path in it. */
function subjectOf(path: readonly string[]): string {
  if (path.length === 0) return "it";
  return path.length === 1 && /^\d+$/.test(path[0] ?? "")
    ? `entry ${Number(path[0]) + 1} of it`
    : `its ${path.join(".")}`;
}

function unknownWords(path: readonly string[], name: string): string {
  const full = [...path, name].join(".");
  const level = path.reduce<SettingSchema | undefined>((schema, step) => schema?.properties?.[step], settingsSchema);
  return `${full} is not a setting. Allowed here: ${Object.keys(level?.properties ?? level?.items?.properties ?? {}).join(", ")}`;
}

/**
 * The settings that the environment names, as an object to lay over the others. Lists of words are separated by commas,
 * lists of objects are JSON, an empty value of a setting that may be null is null.
 */
function fromEnvironment(environment: Readonly<Record<string, string | undefined>>): Record<string, unknown> {
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
  if (types.includes("array")) return schema.items?.type === "object" ? listOf(setting, text) : wordsOf(text);
  return text;
}

function wordsOf(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function listOf(setting: Setting, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse(setting);
  }
}

function refuse({ environment, schema }: Setting): never {
  throw new StartError(`${environment} is wrong. Allowed: ${allowedWords(schema)}. ${schema.description}`);
}

/** Names in the environment that are no setting but one or two edits away from one, as after a typing error; each with the name of that setting. */
export function similarNames(
  environment: Readonly<Record<string, string | undefined>>,
): { name: string; nearest: string }[] {
  const ours = ["CONFIG", ...settingList.map((setting) => setting.environment)];
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || ours.includes(name)) return [];
    const { word, edits } = nearestWord(name, ours);
    return edits <= (name.length > SHORT ? 2 : 1) ? [{ name, nearest: word }] : [];
  });
}

/** Characters of a name up to which two edits make another word of it: HOME is not HOST. */
const SHORT = 5;
