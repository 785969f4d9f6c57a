import { readFileSync } from "node:fs";
import type schema from "../../config/schema.json";

/**
 * Type of the values that a part of `config/schema.json` describes. The compiler widens strings of a JSON file, so a
 * setting has the type of its default. Without a default, or with null, it is a number if it has a minimum, otherwise a
 * string.
 */
type ValueOf<Part> = PlainValueOf<Part> | (Part extends { readonly type: readonly string[] } ? null : never);

type PlainValueOf<Part> = Part extends { readonly properties: infer Parts }
  ? { readonly [Name in keyof Parts]: ValueOf<Parts[Name]> }
  : Part extends { readonly items: infer Item }
    ? readonly ValueOf<Item>[]
    : ScalarOf<Part>;

type ScalarOf<Part> = Part extends { readonly default: infer Value extends string | number | boolean }
  ? Value
  : Part extends { readonly minimum: number }
    ? number
    : string;

/** The settings, with lists of words as strings. */
export type SchemaSettings = ValueOf<typeof schema>;

/** A part of `config/schema.json`, with the JSON Schema keywords that this project uses. */
export interface SettingSchema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly items?: SettingSchema;
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  /** Environment variable, if not derived from the path. */
  readonly environment?: string;
  /** Whether the value is never shown. */
  readonly secret?: boolean;
}

/** A single setting. */
export interface Setting {
  /** Path from the root, `["limits", "body_bytes"]`. */
  readonly path: readonly string[];
  /** `limits.body_bytes`. */
  readonly name: string;
  /** `LIMITS_BODY_BYTES`. */
  readonly environment: string;
  readonly schema: SettingSchema;
}

/** `config/schema.json`. */
export const settingsSchema = JSON.parse(
  readFileSync(new URL("../../config/schema.json", import.meta.url), "utf8"),
) as SettingSchema;

/** All settings in the order of the schema. */
export const settingList: readonly Setting[] = leavesOf(settingsSchema, []);

/** An object with a default is one setting. */
function leavesOf(schema: SettingSchema, path: readonly string[]): Setting[] {
  if (schema.properties !== undefined && schema.default === undefined)
    return Object.entries(schema.properties).flatMap(([name, child]) => leavesOf(child, [...path, name]));
  return [{ path, name: path.join("."), environment: schema.environment ?? path.join("_").toUpperCase(), schema }];
}

/** Returns the default settings. */
export function defaultSettings(): Record<string, unknown> {
  return settingTree(settingList.map((setting) => [setting, setting.schema.default]));
}

/** Builds an object with each value at the path of its setting. */
export function settingTree(values: readonly (readonly [setting: Setting, value: unknown])[]): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const [{ path }, value] of values) {
    let place = settings;
    for (const name of path.slice(0, -1)) {
      place[name] ??= {};
      place = place[name] as Record<string, unknown>;
    }
    place[path.at(-1) as string] = value;
  }
  return settings;
}

/** Describes the allowed values of a setting. */
export function allowedWords(schema: SettingSchema): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
  const types = Array.isArray(schema.type) ? (schema.type as string[]) : [String(schema.type)];
  return types.map((type) => typeWords(type, schema)).join(" or ");
}

function typeWords(type: string, schema: SettingSchema): string {
  if (type === "integer") return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  if (type === "boolean") return "true or false";
  if (type === "object") return "an object";
  if (type === "array")
    return schema.items?.enum === undefined ? "a list" : `a list of one or more of ${schema.items.enum.join(", ")}`;
  if (type === "string")
    return schema.maxLength === undefined ? "text" : `text of at most ${schema.maxLength} characters`;
  return type;
}
