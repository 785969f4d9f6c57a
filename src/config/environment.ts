import { StartError } from "../errors.js";
import { nearestWord } from "../names.js";
import { allowedWords, type Setting, settingList, settingTree } from "./setting-schema.js";

/**
 * The settings that the environment names, as an object to lay over the others. Lists of words are separated by commas,
 * lists of objects are JSON, an empty value of a setting that may be null is null.
 */
export function fromEnvironment(environment: Readonly<Record<string, string | undefined>>): Record<string, unknown> {
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

/** Names in the environment that are none of ours but nearly one of them, as after a typing error, each with that one. */
export function similarNames(
  environment: Readonly<Record<string, string | undefined>>,
): { readonly name: string; readonly nearest: string }[] {
  const ours = ["CONFIG", ...settingList.map((setting) => setting.environment)];
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || ours.includes(name)) return [];
    const { word, edits } = nearestWord(name, ours);
    return edits <= (name.length > SHORT ? 2 : 1) ? [{ name, nearest: word }] : [];
  });
}

/** Characters of a name up to which two edits make another word of it: HOME is not HOST. */
const SHORT = 5;
