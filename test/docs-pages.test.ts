import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { root, sourceFiles } from "./support/source-tree.js";

const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Rows of the tables of a page by their first cell, without its backticks. */
const rowsOf = (page: string) =>
  new Map([...page.matchAll(/^\| `?([^`|]+?)`? \|(.*)$/gm)].map(([, name = "", rest = ""]) => [name, rest]));

/** Files and folders that a text names; a path without `src` or `test` is one of `src`. */
const pathsIn = (text: string) =>
  [...text.matchAll(/(?:src|test)\/[\w./-]*|[\w./-]+\.ts\b/g)].map(([path]) =>
    /^(src|test)\//.test(path) ? path : `src/${path}`,
  );

const promises = rowsOf(read("docs/promises.md"));
const sources = sourceFiles();
const testFiles = (readdirSync(join(root, "test"), { recursive: true }) as string[])
  .filter((name) => name.endsWith(".ts"))
  .map((name) => `test/${name.replaceAll("\\", "/")}`);

describe("the pages of docs", () => {
  for (const page of ["docs/architecture.md", "docs/glossary.md", "docs/promises.md", "CONTRIBUTING.md"]) {
    it(`name only files and folders that exist: ${page}`, () => {
      const paths = pathsIn(read(page));
      expect(paths).to.have.length.above(20);
      expect(paths.filter((path) => !existsSync(join(root, path)))).to.deep.equal([]);
    });
  }

  it("list every folder of src, and no other", () => {
    const folders = (readdirSync(join(root, "src"), { recursive: true }) as string[])
      .filter((name) => statSync(join(root, "src", name)).isDirectory())
      .map((name) => `src/${name.replaceAll("\\", "/")}/`);
    const listed = [...rowsOf(read("docs/architecture.md")).keys()].filter((name) => name.startsWith("src/"));
    expect(listed.sort()).to.deep.equal(["src/", ...folders].sort());
  });

  it("list every failpoint of src with the files that it is in, and no other", () => {
    const [, section = ""] = read("docs/promises.md").split("## Failpoints");
    const listed = [...rowsOf(section)]
      .filter(([name]) => name !== "name" && !name.startsWith("-"))
      .flatMap(([name, rest]) => pathsIn(rest).map((path) => `${name} ${path}`))
      .filter((line) => line.includes(" src/"));
    const inSource = sources.flatMap(({ path, code }) =>
      [...code.matchAll(/\bfailpoint\("([^"]+)"\)/g)].map(([, name]) => `${name} src/${path}.ts`),
    );
    expect(inSource).to.have.length.above(15);
    expect(listed.sort()).to.deep.equal([...new Set(inSource)].sort());
  });

  it("list every promise that a test or source names, with the tests that name it", () => {
    const named = [...testFiles, ...sources.map(({ file }) => file)].flatMap((path) =>
      [...new Set(read(path).match(/\bP\d{1,2}\b/g))].map((number) => ({ number, path })),
    );
    expect(named).to.have.length.above(30);
    const missing = named.filter(({ number, path }) => {
      const row = promises.get(number);
      return row === undefined || (path.endsWith(".test.ts") && !pathsIn(row).includes(path));
    });
    expect(missing).to.deep.equal([]);
  });
});
