import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { commandBlocks } from "./support/readme.js";
import { remoteSystem } from "./support/remote-system.js";
import { adminKey } from "./support/service.js";
import { hasTerminals, type ShellService, startInShell } from "./support/shell-service.js";
import { root } from "./support/source-tree.js";
import { until } from "./support/until.js";

const marker = "=== block ";
const blocks = commandBlocks();

describe("README", function () {
  this.timeout(120_000);
  let dir: string;
  let running: ShellService | undefined;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
    // A folder that looks like the project's, so that what the commands write stays out of it.
    for (const name of ["package.json", "scripts", "config", "dist", ".npmrc"])
      symlinkSync(join(root, name), join(dir, name));
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    rmSync(dir, { recursive: true, force: true });
  });

  const environment = () => ({ ...process.env, DATA_DIR: join(dir, "data"), PORT: "0", LOG_LEVEL: "error" });
  const started = async (commands: string, terminal = false, env: NodeJS.ProcessEnv = {}) => {
    running = await startInShell(commands, { cwd: dir, env: { ...environment(), ...env }, terminal });
    return running;
  };
  const blockOf = (run: string) => blocks.find((block) => block.run === run)?.script ?? "";

  it("shows no command that is not tried, but the demo and the containers", () => {
    const untried = blocks.filter(({ run }) => run === "never").map(({ script }) => script);
    expect(untried).to.have.length(3);
    expect(untried[0]).to.equal("npm run demo\n");
    for (const script of untried.slice(1)) expect(script).to.match(/^(docker compose .*\n)+$/);
    for (const run of ["start", "servers", "targets"])
      expect(blocks.filter((block) => block.run === run)).to.have.length(1);
  });

  for (const terminal of [true, false]) {
    it(`has commands that work as they are pasted, the service started ${terminal ? "at" : "without"} a terminal, with the answers that it shows`, async function () {
      const missing = spawnSync("curl", ["--version"]).error !== undefined ? "curl" : "script of util-linux";
      if (missing === "curl" || (terminal && !hasTerminals)) {
        process.stderr.write(`${missing} was not found: the commands of README.md are not tried\n`);
        this.skip();
      }
      const service = await started(`exec ${blockOf("start")}`, terminal);
      await until("it has printed where the key is", () => service.output().includes("docs in a browser"));
      expect(existsSync(join(dir, "data", "first-key"))).to.equal(!terminal);
      expect(service.output()).to.match(terminal ? /shown this once:\s+em_/ : /Your API key is in .*first-key/);

      const pasted = blocks.filter(({ run }) => run === undefined);
      const script = pasted
        .map(({ script }, index) => `printf '\\n${marker}${index}\\n'\n${at(service.address, script)}`)
        .join("\n");
      const env = { ...environment(), ENTITY_METRICS_URL: service.address };
      const { status, stdout, stderr } = spawnSync("sh", ["-ec", script], { cwd: dir, env, encoding: "utf8" });
      const outputs = stdout.split(new RegExp(`^${marker}\\d+\\n`, "m")).slice(1);
      const last = pasted[outputs.length - 1];
      expect(status, `README line ${last?.line}: ${outputs.at(-1)}\n${stderr}`).to.equal(0);
      pasted.forEach((block, index) => {
        const output = outputs[index] ?? "";
        expect(output, `README line ${block.line}`).to.not.match(/"status":[45]\d\d/);
        if (block.answer !== undefined)
          expectLike(JSON.parse(output), JSON.parse(block.answer), `README line ${block.line}`);
      });
      expect(await service.stop()).to.equal(0);
    });
  }

  it("has a target that is called with its token, and that an erasure waits for", async () => {
    const crm = await remoteSystem();
    try {
      crm.holds.add("ada@example.com");
      const { address } = await started(blockOf("targets").replace(/https:\/\/crm[^"]*/, crm.url), false, {
        ADMIN_KEY: adminKey,
      });
      const call = async (method: string, path: string, body?: object) => {
        const headers = { authorization: adminKey, "content-type": "application/json" };
        const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
        return ((await (await fetch(`${address}${path}`, init)).json()) as { data: Record<string, unknown> }).data;
      };
      await call("POST", "/collect/json/web", { email: "ada@example.com" });
      const { request_id: id } = await call("DELETE", "/api/entity/user/email/ada%40example.com");
      await until(
        "it is completed",
        async () => (await call("GET", `/api/entity/deletestatus/${id}`)).completed === true,
      );
      expect([...crm.holds]).to.deep.equal([]);
      expect(crm.calls.map(({ path }) => path.split("/").at(-1))).to.include.members(["erase", "verify"]);
      const token = /"token": "([^"]+)"/.exec(blockOf("targets"))?.[1];
      for (const { authorization } of crm.calls) expect(authorization).to.equal(`Bearer ${token}`);
    } finally {
      await crm.close();
    }
  });
});

/** Commands for a service at this address, in place of the usual port. */
function at(address: string, script: string): string {
  return script.replaceAll("http://127.0.0.1:8080", address);
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
