import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect } from "chai";
import { statusOf } from "../src/http/edge/errors.js";
import { pages, pageText } from "./support/readme.js";
import { root, sourceFiles } from "./support/source-tree.js";

const outside = ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

/** A text in lower case that is not compared. */
const NAME = /(?<!=== )"([a-z]+(?:_[a-z0-9]+)*)"(?! in )/g;

/**
 * The error codes in a text of sources: the texts in values of the name `code` or `issue`, and in arguments for a
 * parameter of that name.
 */
function codesIn(sources: string): string[] {
  const values = [...sources.matchAll(/\b(?:code|issue)(?:: | = | \?\? )([^;,)}]*)/g)].map(([, value = ""]) => value);
  const functions = [...sources.matchAll(/\b(?!if|for)(\w+)(?: = )?\(((?:[^()]*, )?)code: string/g)];
  const calls = functions.flatMap(([, name = "", before = ""]) =>
    [...sources.matchAll(new RegExp(`\\b${name}\\(`, "g"))].map(
      ({ index }) => argumentsAt(sources, index + name.length + 1)[before.split(",").length - 1] ?? "",
    ),
  );
  return [...values, ...calls].flatMap((text) => [...text.matchAll(NAME)].map(([, code = ""]) => code));
}

/** The arguments of a call, from the character after its bracket. */
function argumentsAt(sources: string, start: number): string[] {
  const found = [""];
  let depth = 0;
  for (const [token] of sources.slice(start, start + 1_000).matchAll(/"(?:[^"\\]|\\.)*"|`[^`]*`|[\s\S]/g)) {
    if ("([{".includes(token)) depth += 1;
    if (")]}".includes(token)) depth -= 1;
    if (depth < 0) break;
    if (token === "," && depth === 0) found.push("");
    else found.push((found.pop() ?? "") + token);
  }
  return found;
}

/** The anchors of the headings of a page, as GitHub makes them. */
const anchorsOf = (page: string) =>
  [...pageText(page).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

const linksOf = (page: string) =>
  [...pageText(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = ""]) => {
    const [path = "", anchor] = link.split("#");
    return { link, target: path === "" ? page : normalize(join(dirname(page), path)), anchor };
  });

describe("the reference pages", function () {
  this.timeout(60_000);

  for (const name of ["settings", "routes", "commands", "architecture"]) {
    it(`contain docs/${name}.md exactly as scripts/generate-reference.mjs writes it`, () => {
      const script = join(root, "scripts/generate-reference.mjs");
      const { stdout, stderr } = spawnSync(process.execPath, [script, "--print", name], { encoding: "utf8" });
      expect(stdout, stderr).to.equal(readFileSync(join(root, `docs/${name}.md`), "utf8"));
    });
  }

  it("install in a clone with a log level at which npm prints its errors", () => {
    const installs = pages.flatMap((page) => pageText(page).match(/npm (?:ci|prune)\b[^`\n&]*/g) ?? []);
    expect(installs).to.have.length.above(1);
    expect(installs.filter((command) => !command.includes("--loglevel=error"))).to.deep.equal([]);
  });

  it("list in docs/errors.md exactly the codes of the service", () => {
    const listed = [...pageText("docs/errors.md").matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)]
      .flatMap(([, names = ""]) => names.match(/\w+/g) ?? [])
      .filter((code, index, all) => all.indexOf(code) === index);
    const edges = sourceFiles().filter(({ path }) => !/^(dashboard|client|stores\/(?!influxdb))/.test(path));
    const code = edges.map(({ code }) => code).join("\n");
    const ofKinds = Object.keys(statusOf).map((kind) => kind.replaceAll("-", "_"));
    const codes = new Set([...codesIn(code), ...ofKinds]);
    expect([...codes].filter((name) => !listed.includes(name)).sort(), "not listed").to.deep.equal([]);
    expect(listed.filter((name) => !codes.has(name)).sort(), "not in the sources").to.deep.equal([]);
  });
});

describe("links between pages", () => {
  /** Files of the npm package, which contains these pages too. */
  let packed: string[];
  before(function () {
    this.timeout(60_000);
    const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
    const { stdout, stderr } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
    expect(stdout, stderr).to.match(/^\[/);
    packed = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path);
  });

  for (const page of [...pages, ...outside]) {
    it(`lead from ${page} to files of the package and headings that exist`, () => {
      for (const { link, target, anchor } of linksOf(page)) {
        const folder = `${target}/`.replace("//", "/");
        expect(
          packed.some((path) => path === target || path.startsWith(folder)),
          link,
        ).to.equal(true);
        if (anchor !== undefined) expect(anchorsOf(target), link).to.include(anchor);
      }
    });
  }

  it("lead from the index to every page", () => {
    const linked = new Set(linksOf("docs/README.md").map(({ target }) => target));
    expect(pages.filter((page) => page !== "docs/README.md" && !linked.has(page))).to.deep.equal([]);
  });
});
