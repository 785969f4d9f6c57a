import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { root } from "./support/source-tree.js";

/** A program that reads the files: it needs no engine. */
const program = [["docker-compose"], ["docker", "compose"]].find(
  ([name = "", ...args]) => spawnSync(name, [...args, "version"]).status === 0,
);

const secrets = [...readFileSync(join(root, ".env.example"), "utf8").matchAll(/^([A-Z_]+)=$/gm)].map(
  ([, name]) => name,
);

describe("the files for containers", () => {
  if (program === undefined) {
    it("not run: docker-compose was not found");
    return;
  }

  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
    for (const name of ["docker-compose.yml", "docker-compose.embedded.yml"])
      copyFileSync(join(root, name), join(dir, name));
  });

  /** Reads a file of the folder, with a `.env` that has a value for each of these. */
  function read(file: string, given: readonly (string | undefined)[]) {
    writeFileSync(join(dir, ".env"), given.map((name) => `${name}=secret-of-${name}\n`).join(""));
    const [name = "", ...args] = program ?? [];
    const { PATH, HOME } = process.env;
    return spawnSync(name, [...args, "-f", file, "config"], { cwd: dir, encoding: "utf8", env: { PATH, HOME } });
  }

  it("describe two api processes, a worker and three servers that they wait for", () => {
    const { status, stdout, stderr } = read("docker-compose.yml", secrets);
    expect(status, stderr).to.equal(0);
    const services = [...stdout.matchAll(/^ {2}([\w-]+):$/gm)].map(([, name]) => name);
    expect(services).to.include.members(["api-1", "api-2", "worker", "mongo", "influxdb", "redis"]);
    expect([...stdout.matchAll(/condition: service_healthy/g)]).to.have.length(9);
    expect([...stdout.matchAll(/ROLES: (\w+)/g)].map(([, role]) => role)).to.have.members(["api", "api", "worker"]);
  });

  it("report each secret that is not set", () => {
    const { status, stderr } = read("docker-compose.yml", secrets.slice(1));
    expect(status).to.not.equal(0);
    expect(stderr).to.contain(`set ${secrets[0]}`);
    const text = readFileSync(join(dir, "docker-compose.yml"), "utf8");
    for (const name of secrets) expect(text).to.contain(`\${${name}:?set ${name},`);
  });

  it("describe one container with everything embedded, which needs no setting", () => {
    const { status, stdout, stderr } = read("docker-compose.embedded.yml", []);
    expect(status, stderr).to.equal(0);
    expect(stdout).to.match(/data:\/data/);
  });
});
