import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataFolder } from "./data-folder.js";

/** A folder for the files of a suite, made when it is first used and removed after the suite. */
export function folderOfSuite() {
  let dir: string | undefined;
  const at = (...names: readonly string[]) => {
    dir ??= dataFolder();
    return join(dir, ...names);
  };
  return {
    /** The path of a file in it; without a name, its own. */
    at,
    /** Writes a file; returns its path. */
    file(name: string, content: string | Uint8Array): string {
      writeFileSync(at(name), content);
      return at(name);
    },
  };
}

/** Returns the files below a folder, journals included, that contain one of these byte strings; one hit for each. */
export function findBytes(dir: string, needles: readonly Uint8Array[]): { file: string; needle: number }[] {
  const hits: { file: string; needle: number }[] = [];
  for (const file of readdirSync(dir, { recursive: true, withFileTypes: true }) as import("node:fs").Dirent[]) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    const bytes = readFileSync(path);
    needles.forEach((needle, index) => {
      if (bytes.includes(Buffer.from(needle))) hits.push({ file: path, needle: index });
    });
  }
  return hits;
}
