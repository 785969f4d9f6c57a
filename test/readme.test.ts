import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { paste } from "./support/paste.js";
import { commandBlocks, pages } from "./support/readme.js";
import { remoteSystem } from "./support/remote-system.js";
import { adminKey } from "./support/service.js";
import { hasTerminals, startInShell } from "./support/shell-service.js";
import { root } from "./support/source-tree.js";
import { until } from "./support/until.js";
import { webhookReceiver } from "./support/webhook-receiver.js";

const blocks = pages.flatMap(commandBlocks);
const pastedOf = (page: string) => blocks.filter((block) => block.page === page && block.run === undefined);
const otherPages = pages.filter((page) => page !== "README.md" && pastedOf(page).length > 0);

describe("the commands of README and docs", function () {
  this.timeout(120_000);
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
    // A copy of the project's folder by links, so that commands do not write to the project.
    for (const name of ["package.json", "scripts", "config", "dist", ".npmrc"])
      symlinkSync(join(root, name), join(dir, name));
  });

  const environment = () => ({ ...process.env, DATA_DIR: join(dir, "data"), PORT: "0", LOG_LEVEL: "error" });
  const started = (commands: string, terminal = false, env: NodeJS.ProcessEnv = {}) =>
    startInShell(commands, { cwd: dir, env: { ...environment(), ...env }, terminal });
  const blockOf = (run: string) => blocks.find((block) => block.run === run)?.script ?? "";

  it("are all run by tests, except those for containers, systemd and Grafana", () => {
    const untried = blocks.filter(({ run }) => run === "never");
    const pagesOf = new Set(untried.map(({ page }) => page));
    expect([...pagesOf].sort()).to.deep.equal(["README.md", "docs/grafana.md", "docs/install.md", "docs/systemd.md"]);
    const scriptsOf = (wanted: string) => untried.filter(({ page }) => page === wanted).map(({ script }) => script);
    expect(scriptsOf("README.md")).to.deep.equal(["npm test\n"]);
    for (const script of scriptsOf("docs/install.md").filter((text) => text.startsWith("docker")))
      expect(script).to.match(/^(docker compose .*\n)+$/);
    const named = blocks.flatMap(({ run }) => (run === undefined || run === "never" ? [] : [run]));
    expect(named.sort()).to.deep.equal([
      "bench",
      "key",
      "prometheus",
      "restore",
      "servers",
      "start",
      "targets",
      "webhook",
    ]);
  });

  it("contain no comments, as zsh takes a pasted `#` for an argument", () => {
    expect(blocks).to.have.length.above(60);
    expect(
      blocks.filter(({ script }) => /(^|\s)#/m.test(script)).map(({ page, line }) => `${page} ${line}`),
    ).to.deep.equal([]);
  });

  for (const terminal of [true, false]) {
    it(`work as pasted from README, with the service ${terminal ? "at" : "without"} a terminal, and print what the page shows`, async function () {
      const missing = spawnSync("curl", ["--version"]).error !== undefined ? "curl" : "script of util-linux";
      if (missing === "curl" || (terminal && !hasTerminals)) {
        process.stderr.write(`${missing} was not found: the commands of README.md are not tried\n`);
        this.skip();
      }
      const service = await started(`exec ${blockOf("start")}`, terminal);
      await until("it has printed where the key is", () => service.output().includes("docs in a browser"));
      expect(existsSync(join(dir, "data", "first-key"))).to.equal(!terminal);
      const [, key = ""] =
        /shown this once:\s+(em_\w+)/.exec(
          terminal ? service.output() : `shown this once: ${readFileSync(join(dir, "data", "first-key"), "utf8")}`,
        ) ?? [];
      expect(blockOf("key")).to.equal("KEY='em_…'\n");

      paste(pastedOf("README.md"), dir, service.address, { ...environment(), KEY: key });
      expect(await service.stop()).to.equal(0);
    });
  }

  for (const page of otherPages) {
    it(`work as pasted from ${page}, and print what the page shows`, async function () {
      if (spawnSync("curl", ["--version"]).error !== undefined) {
        process.stderr.write(`curl was not found: the commands of ${page} are not tried\n`);
        this.skip();
      }
      const { address } = await started(blockOf("start"), false, { ADMIN_KEY: adminKey });
      paste(pastedOf(page), dir, address, { ...environment(), KEY: adminKey });
    });
  }

  it("of docs/delete-a-person.md call a target with its token, and the deletion waits for it", async () => {
    const crm = await remoteSystem();
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
  });

  it("of docs/delete-a-person.md call a webhook with its token when a deletion is completed", async () => {
    const shop = await webhookReceiver();
    const { address } = await started(blockOf("webhook").replace(/https:\/\/shop[^"]*/, shop.url), false, {
      ADMIN_KEY: adminKey,
    });
    const headers = { authorization: adminKey };
    await fetch(`${address}/api/entity/user/email/ada%40example.com`, { method: "DELETE", headers });
    await until("it is notified", () => shop.received.length > 0);
    const token = /"token": "([^"]+)"/.exec(blockOf("webhook"))?.[1];
    expect(shop.received[0]?.authorization).to.equal(`Bearer ${token}`);
  });
});
