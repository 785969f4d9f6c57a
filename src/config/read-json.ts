import { readFileSync } from "node:fs";
import { StartError } from "../errors.js";

/** What the JSON file holds that the setting `name` names. Throws a `StartError`, which does not quote the file: it may hold secrets. */
export function readJson(name: string, path: string | URL): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new StartError(`${name} names ${path}, which cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new StartError(`${name} names ${path}, which is not JSON`);
  }
}
