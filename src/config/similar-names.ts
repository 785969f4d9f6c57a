import { nearestWord } from "../nearest-word.js";
import { settingList } from "./setting-schema.js";

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
