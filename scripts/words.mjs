// Checks comments, docs and test titles for unusual words.
//   node scripts/words.mjs [folder or file ...]           lists each finding; exits with 1 if there are any
//   node scripts/words.mjs --count [folder or file ...]   prints the number of findings per folder
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Maximum columns of a comment line. */
const MAX_COLUMNS = 120;

/** Unusual words, each with its plain equivalent and, if it is not everywhere, the paths where it is unusual. */
const words = [
  [/\b(says?|said)\b/i, "contains, reports, means"],
  [/\bstands?\b(?! for\b)/i, "is stored in, is valid"],
  [/\blies?\b/i, "is stored in"],
  [/\banew\b/i, "again"],
  [/\b(is|are|was|were|be|been|being|goes|go|went|has gone|have gone) away\b/i, "unreachable, gone"],
  [/\b(is|are|was|were) over\b(?! (\d|TLS|HTTP))/i, "has ended"],
  [/\b(comes|come|came) to\b/i, "results in, amounts to"],
  [/\btold\b/i, "reported"],
  [/\bin words\b/i, "with a message"],
  [/\bthose that\b/i, "which"],
  [/\bthe ones? that\b/i, "which"],
  [/\bwhoever\b/i, "anyone"],
  [/\bnobody\b/i, "no process, no reader"],
  [/\bas (it is|they are)(?=[.,;:]|$)/i, "unchanged"],
  [/\b(has|have) (it|them) again\b/i, "is valid again"],
  [/\bmeanwhile\b/i, "concurrently"],
  [/\bbeside\b/i, "next to"],
  [/\b(goes|went|go) on\b/i, "continues"],
  [/\bwhat (is|are|was|were) (said|asked|told|there)\b/i, "a noun"],
  [/\b(so|as) (many|much) (of|at|times|bytes|ms|points|days)\b/i, "the name of the argument"],
  [/\bfor ever\b/i, "unlimited, without end"],
  [/\bunder way\b/i, "in progress"],
  [/\bhand(s|ed)? (on|out|over)\b/i, "passes, returns, forwards"],
  [/\bnothing but\b/i, "only"],
  [/\bon the spot\b/i, "a time"],
  [/\b(has|have) gone\b/i, "disconnected, ended"],
  [/(?<!\bso )\b(that|those) of\b/i, "the noun again", /^(?!CHANGELOG)/],
];

/** Comments begin with a verb or a noun. */
const openings = [[/^(What|That|Of|How|Why|So|As|By|Which|Who)\b/, "a verb or a noun"]];

/** Places where the word is right: part of the path, text of the line. Fewer than 20. */
const allowed = [];

/** @typedef {{ file: string, line: number, text: string, plain: string }} Finding */

function filesBelow(path) {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => !["node_modules", "dist", ".git", "fixtures"].includes(entry.name))
    .flatMap((entry) => filesBelow(join(path, entry.name)));
}

function find(list, text, path) {
  return list
    .filter(([pattern, , where]) => pattern.test(text) && (where?.test(path) ?? true))
    .map(([, plain]) => plain);
}

/** Yields the lines of text of a file: comments and test titles of code, prose of Markdown. */
function* linesOf(file, content) {
  const markdown = extname(file) === ".md";
  const shell = !markdown && (/\.(sh|ya?ml)$/.test(file) || content.startsWith("#!/bin/sh"));
  let fenced = false;
  let block = false;
  let inComment = false;
  for (const [index, raw] of content.split("\n").entries()) {
    const line = index + 1;
    if (markdown) {
      if (/^\s*```/.test(raw)) fenced = !fenced;
      else if (!fenced) yield { line, text: raw.replace(/`[^`]*`/g, "``"), first: false, comment: false, raw };
      continue;
    }
    const comment = shell
      ? /^\s*#(?!!)\s?(.*)$/.exec(raw)?.[1]
      : block
        ? raw.replace(/^\s*\*?\s?/, "").replace(/\*\/.*$/, "")
        : (/^\s*\/\*\*?\s?(.*?)(\*\/.*)?$/.exec(raw)?.[1] ??
          /^\s*\/\/\s?(.*)$/.exec(raw)?.[1] ??
          /[;,{)\]]\s+\/\/ (.*)$/.exec(raw)?.[1]);
    if (comment !== undefined) {
      const text = comment.replace(/`[^`]*`/g, "``").replace(/^@\w+ /, "");
      yield { line, text, first: !inComment && text.trim() !== "", comment: true, raw };
      inComment = block || /^\s*(\/\/|#)/.test(raw) || inComment;
    }
    if (!shell) {
      if (/^\s*\/\*/.test(raw)) {
        block = !raw.includes("*/");
        inComment = block;
      } else if (block && raw.includes("*/")) {
        block = false;
        inComment = false;
      }
    }
    if (comment === undefined) {
      inComment = false;
      const title = /\b(?:it|describe|journey|test|long|each)(?:\.\w+)?\(\s*[`"'](.*)[`"']/.exec(raw)?.[1];
      if (title !== undefined) yield { line, text: title, first: false, comment: false, raw };
    }
  }
}

/** @returns {Finding[]} */
function findingsOf(file) {
  const path = relative(root, file);
  const findings = [];
  for (const { line, text, first, comment, raw } of linesOf(file, readFileSync(file, "utf8"))) {
    const plain = [...find(words, text, path), ...(first ? find(openings, text, path) : [])];
    if (comment && raw.length > MAX_COLUMNS && !raw.includes("://")) plain.push(`at most ${MAX_COLUMNS} columns`);
    const exempt = allowed.some(([where, what]) => path.includes(where) && raw.includes(what));
    if (!exempt) findings.push(...plain.map((use) => ({ file: path, line, text: raw.trim(), plain: use })));
  }
  return findings;
}

function folderOf(path) {
  const folder = dirname(path);
  return folder === "." ? basename(path) : folder.split("/").slice(0, 3).join("/");
}

const args = process.argv.slice(2);
const count = args.includes("--count");
const pages = readdirSync(root).filter((name) => /\.md$|^docker-compose.*\.yml$/.test(name));
const named = args.filter((arg) => !arg.startsWith("--"));
const places = named.length > 0 ? named : ["src", "test", "scripts", "docs", "deploy", ".ci/run", ...pages];

const checked = /\.(ts|tsx|mjs|cjs|js|css|md|sh|ya?ml)$|\.ci\/run$/;
const itself = fileURLToPath(import.meta.url);
const findings = places
  .flatMap((place) => filesBelow(join(root, relative(root, place))))
  .filter((file) => checked.test(file) && file !== itself)
  .flatMap(findingsOf);

if (count) {
  const byFolder = Map.groupBy
    ? Map.groupBy(findings, ({ file }) => folderOf(file))
    : findings.reduce(
        (map, one) => map.set(folderOf(one.file), [...(map.get(folderOf(one.file)) ?? []), one]),
        new Map(),
      );
  for (const [folder, list] of [...byFolder].sort(([, a], [, b]) => b.length - a.length))
    console.log(`${String(list.length).padStart(6)}  ${folder}`);
} else {
  for (const { file, line, text, plain } of findings) console.log(`${file}:${line}: use "${plain}": ${text}`);
}
console.log(`${findings.length} findings; ${allowed.length} allowed places`);
process.exitCode = findings.length > 0 && !count ? 1 : 0;
