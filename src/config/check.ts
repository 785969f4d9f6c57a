import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { StartError } from "../errors.js";
import { allowedWords, type SettingSchema, settingList, settingsSchema } from "./setting-schema.js";

const ajv = new Ajv2020({ allowUnionTypes: true });
ajv.addVocabulary(["environment", "secret"]);
const valid = ajv.compile(settingsSchema);

/** Throws a `StartError` of one line that names the first wrong setting, what is wrong with it, and what is allowed. */
export function checkSettings(settings: unknown): void {
  if (!valid(settings)) throw new StartError(wordsFor((valid.errors as ErrorObject[])[0] as ErrorObject));
}

function wordsFor(error: ErrorObject): string {
  const path = error.instancePath.split("/").slice(1);
  if (error.keyword === "additionalProperties") return unknownWords(path, String(error.params.additionalProperty));
  if (error.keyword === "required" && path.length < 2) path.push(String(error.params.missingProperty));
  const setting = settingList.find(({ path: own }) => own.every((name, index) => path[index] === name));
  if (setting === undefined) return `The settings are wrong: ${path.join(".") || "the whole"} ${error.message}`;
  const inside = path.slice(setting.path.length).join(".");
  const what =
    error.keyword === "required"
      ? `lacks ${error.params.missingProperty}`
      : error.keyword === "pattern"
        ? "has another form"
        : error.message;
  return `${setting.name} (${setting.environment}) is wrong: ${inside === "" ? "it" : `its ${inside}`} ${what}. Allowed: ${allowedWords(setting.schema)}. ${setting.schema.description}`;
}

function unknownWords(path: readonly string[], name: string): string {
  const full = [...path, name].join(".");
  const level = path.reduce<SettingSchema | undefined>((schema, step) => schema?.properties?.[step], settingsSchema);
  return `${full} is not a setting. Allowed here: ${Object.keys(level?.properties ?? level?.items?.properties ?? {}).join(", ")}`;
}
