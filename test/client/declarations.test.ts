import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect } from "chai";
import { root } from "../support/source-tree.js";

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly types?: string;
  readonly typings?: string;
}

describe("the types of entity-metrics/client", () => {
  it("name no package that is not installed with it, together with its types", () => {
    const { dependencies } = readPackage(root);
    const named = packagesNamedFrom(join(root, "dist/client/client.d.ts"));
    expect([...named]).to.include("@sinclair/typebox");
    for (const name of named) {
      expect(dependencies, `a dependency on ${name}`).to.have.property(name);
      const { types, typings } = readPackage(join(root, "node_modules", name));
      const own = types !== undefined || typings !== undefined;
      if (!own) expect(dependencies, `the types of ${name}`).to.have.property(`@types/${name}`);
    }
  });
});

/** Packages that a declaration file names, or one that it refers to. */
function packagesNamedFrom(file: string): Set<string> {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const follow = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, from, imported] of readFileSync(path, "utf8").matchAll(/from "([^"]+)"|import\("([^"]+)"\)/g)) {
      const name = from ?? imported ?? "";
      if (name.startsWith(".")) {
        follow(fileURLToPath(new URL(name.replace(/\.js$/, ".d.ts"), pathToFileURL(path))));
      } else if (!name.startsWith("node:")) {
        packages.add(
          name
            .split("/")
            .slice(0, name.startsWith("@") ? 2 : 1)
            .join("/"),
        );
      }
    }
  };
  follow(file);
  return packages;
}

function readPackage(folder: string): Package {
  const file = join(folder, "package.json");
  expect(existsSync(file), file).to.equal(true);
  return JSON.parse(readFileSync(file, "utf8")) as Package;
}
