import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type CommandBlock, commandBlocks, readme, settingsTable } from "./support/readme.js";
import { root } from "./support/source-tree.js";

const marker = "=== block ";
const blocks = commandBlocks();

describe("README", () => {
  let dir: string;
  let running: ChildProcess | undefined;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
    // A folder that looks like the project's, so that what the commands write stays out of it.
    for (const name of ["package.json", "scripts", "config", "dist", ".npmrc"])
      symlinkSync(join(root, name), join(dir, name));
  });
  after(async () => {
    if (running?.kill("SIGTERM")) await new Promise((resolve) => running?.once("close", resolve));
    rmSync(dir, { recursive: true, force: true });
  });

  it("lists every setting with its default, as config/schema.json describes it", () => {
    expect(readme).to.contain(settingsTable());
  });

  it("shows no command that is not tried, but the demo and the containers", () => {
    const untried = blocks.filter(({ run }) => run === "never").map(({ script }) => script);
    expect(untried).to.have.length(3);
    expect(untried[0]).to.equal("npm run demo\n");
    for (const script of untried.slice(1)) expect(script).to.match(/^(docker compose .*\n)+$/);
    expect(blocks.filter(({ run }) => run === "servers")).to.have.length(1);
  });

  it("has commands that work as they are pasted, with the answers that it shows", async function () {
    this.timeout(120_000);
    if (spawnSync("curl", ["--version"]).error !== undefined) {
      process.stderr.write("curl was not found: the commands of README.md are not tried\n");
      this.skip();
    }
    const environment = { ...process.env, DATA_DIR: join(dir, "data"), PORT: "0", LOG_LEVEL: "error" };
    const [program = "", ...args] = (blocks.find(({ run }) => run === "start")?.script ?? "").trim().split(" ");
    const service = spawn(program, args, { cwd: dir, env: environment });
    running = service;
    let started = "";
    const address = await new Promise<string>((resolve, reject) => {
      service.stderr.on("data", (chunk) => {
        started += chunk;
      });
      service.stdout.on("data", (chunk) => {
        started += chunk;
        const listens = /listens on (\S+)[\s\S]*docs in a browser/.exec(started);
        if (listens?.[1] !== undefined) resolve(listens[1]);
      });
      service.once("exit", () => reject(new Error(`the service did not start: ${started}`)));
    });

    const pasted = blocks.filter(({ run }) => run === undefined);
    const script = pasted
      .map((block, index) => `printf '\\n${marker}${index}\\n'\n${adapted(block, address)}`)
      .join("\n");
    const { status, stdout, stderr } = spawnSync("sh", ["-ec", script], {
      cwd: dir,
      env: environment,
      encoding: "utf8",
    });
    const outputs = stdout.split(new RegExp(`^${marker}\\d+\\n`, "m")).slice(1);
    const last = pasted[outputs.length - 1];
    expect(status, `README line ${last?.line}: ${outputs.at(-1)}\n${stderr}`).to.equal(0);
    pasted.forEach((block, index) => {
      const output = outputs[index] ?? "";
      expect(output, `README line ${block.line}`).to.not.match(/"status":[45]\d\d/);
      if (block.answer !== undefined)
        expectLike(JSON.parse(output), JSON.parse(block.answer), `README line ${block.line}`);
    });

    const ended = new Promise((resolve) => service.once("close", resolve));
    service.kill("SIGTERM");
    expect(await ended).to.equal(0);
  });
});

/** The block as this run needs it: a free port in place of 8080. */
function adapted({ script }: CommandBlock, address: string): string {
  return script
    .replaceAll("http://127.0.0.1:8080", address)
    .replaceAll(/npm run (ingest|collect) -- /g, `npm run $1 -- --url ${address} `);
}

/** Equal, but where the text shown is `…`. */
function expectLike(actual: unknown, shown: unknown, where: string): void {
  if (shown === "…") return;
  if (Array.isArray(shown) && Array.isArray(actual)) {
    expect(actual.length, where).to.equal(shown.length);
    shown.forEach((item, index) => {
      expectLike(actual[index], item, `${where}[${index}]`);
    });
    return;
  }
  if (typeof shown === "object" && shown !== null && typeof actual === "object" && actual !== null) {
    expect(Object.keys(actual), where).to.have.members(Object.keys(shown));
    for (const [name, value] of Object.entries(shown))
      expectLike((actual as Record<string, unknown>)[name], value, `${where}.${name}`);
    return;
  }
  expect(actual, where).to.deep.equal(shown);
}
