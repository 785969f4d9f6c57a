import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** How often any of these byte strings stands in any file under the folder, journals included; with the file's name. */
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
