import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** One import line of a source file: of another source file (`to` is its path) or of a package (its name). */
export interface Import {
  readonly from: string;
  readonly to: string;
  readonly ours: boolean;
}

export interface SourceFile {
  /** From `src/`, without the extension: `metrics/buckets`. */
  readonly path: string;
  /** From the root of the project: `src/metrics/buckets.ts`. */
  readonly file: string;
  readonly lines: number;
  /** The text without comments. */
  readonly code: string;
  readonly imports: readonly Import[];
}

/** Every file under `src`, as it is written. */
export function sourceFiles(): SourceFile[] {
  const src = join(root, "src");
  return (readdirSync(src, { recursive: true }) as string[])
    .filter((name) => /\.tsx?$/.test(name))
    .sort()
    .map((name) => {
      const text = readFileSync(join(src, name), "utf8");
      const path = name.replace(/\.tsx?$/, "").replaceAll("\\", "/");
      return {
        path,
        file: `src/${name.replaceAll("\\", "/")}`,
        lines: text.trimEnd().split("\n").length,
        code: withoutComments(text),
        imports: importsOf(path, text),
      };
    });
}

/** Type imports count like the others, and so do lazy ones. */
function importsOf(path: string, text: string): Import[] {
  const code = withoutComments(text);
  const specifiers = [
    /(?:^|\n)\s*(?:import|export)\b[^;"=(]*?\bfrom\s*"([^"]+)"/g,
    /(?:^|\n)\s*import\s*"([^"]+)"/g,
    /import\(\s*"([^"]+)"\s*\)/g,
  ];
  return specifiers
    .flatMap((pattern) => [...code.matchAll(pattern)])
    .map(([, specifier = ""]) => {
      if (!specifier.startsWith(".")) return { from: path, to: packageName(specifier), ours: false };
      const to = relative(join(root, "src"), resolve(root, "src", dirname(path), specifier)).replaceAll("\\", "/");
      return { from: path, to: to.replace(/\.js$/, ""), ours: true };
    });
}

function packageName(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function withoutComments(text: string): string {
  return text.replaceAll(/(^|\s)\/\*[\s\S]*?\*\//g, "$1").replaceAll(/(^|\s)\/\/[^\n]*/g, "$1");
}
