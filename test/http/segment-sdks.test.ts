import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import type { KeyBounds } from "../../src/keys/api-key.js";
import { openBrowser } from "../browser/browser.js";
import { type DroppingProxy, openDroppingProxy } from "../support/dropping-proxy.js";
import { httpServer } from "../support/http-server.js";
import { pageText } from "../support/readme.js";
import { newKey, serviceOfEachTest } from "../support/service.js";
import { root } from "../support/source-tree.js";
import { until } from "../support/until.js";

/** People that each SDK reports, in requests of a few calls. */
const PEOPLE = 60;

/** A Python that has the package `segment-analytics-python`. */
const python = process.env.TEST_PYTHON ?? "python3";

/** Returns the program of docs/segment.md in a block of this language. */
function shown(language: string): string {
  const [, program = ""] =
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(pageText("docs/segment.md")) ?? [];
  expect(program.trim().split("\n"), language).to.have.length.within(8, 12);
  return program;
}

/** Runs a program to its end. */
async function run(command: string, args: readonly string[], writeKey: string): Promise<void> {
  const child = spawn(command, args, { cwd: root, env: { ...process.env, WRITE_KEY: writeKey } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (output += piece));
  const [code] = await once(child, "close");
  expect(code, output).to.equal(0);
}

const runNode = (program: string, key: string) => run(process.execPath, ["--input-type=module", "-e", program], key);
const runPython = (program: string, key: string) => run(python, ["-c", program], key);

/** Serves a page with analytics.js next to it; returns its origin. */
async function openSite(html: (origin: string) => Promise<string>): Promise<string> {
  const library = createRequire(import.meta.url).resolve("@segment/analytics-next/package.json");
  const script = readFileSync(library.replace("package.json", "dist/umd/index.js"));
  let page = "";
  const { url } = await httpServer((req, res) => res.end(req.url === "/analytics.js" ? script : page));
  const origin = url.replace("127.0.0.1", "localhost");
  page = await html(origin);
  return origin;
}

describe("an SDK", function () {
  this.timeout(120_000);
  const service = serviceOfEachTest();
  let proxy: DroppingProxy;
  beforeEach(async () => {
    proxy = await openDroppingProxy(service.url);
  });

  const keyOf = async (bounds: KeyBounds = {}) => (await newKey(service, ["entity:write"], Date.now(), bounds)).key;

  async function counted(): Promise<number> {
    const { data } = (await (await service.fetch("/api/stream")).json()) as { data: { slot: { count: number } }[] };
    return data[0]?.slot.count ?? 0;
  }

  async function attributes(path: string): Promise<Record<string, unknown>> {
    const response = await service.fetch(`/api/entity/${path}?meta=false`);
    return ((await response.json()) as { data: Record<string, unknown> }).data;
  }

  const loop = (body: string) => `for (let n = 0; n < ${PEOPLE}; n += 1) ${body}`;

  /** Programs in the form of docs/segment.md, and of the same SDK for many people. */
  const sdks: [string, string, string, (program: string) => Promise<void>, () => boolean][] = [
    [
      "analytics-node",
      "js node",
      `import { Analytics } from "@segment/analytics-node";
       const analytics = new Analytics({ writeKey: process.env.WRITE_KEY, host: "http://127.0.0.1:8080", flushAt: 3 });
       ${loop("analytics.track({ userId: 'p-' + n, event: 'x' });")}
       await analytics.closeAndFlush();`,
      async (program) => runNode(program, await keyOf()),
      () => true,
    ],
    [
      "rudder-sdk-node",
      "js rudderstack",
      `import Analytics from "@rudderstack/rudder-sdk-node";
       const analytics = new Analytics(process.env.WRITE_KEY, { dataPlaneUrl: "http://127.0.0.1:8080", flushAt: 3 });
       ${loop("{ analytics.track({ userId: 'p-' + n, event: 'x' }); if (n % 3 === 2) await analytics.flush(); }")}`,
      async (program) => runNode(program, await keyOf()),
      () => true,
    ],
    [
      "segment-analytics-python",
      "python",
      `import os
from segment.analytics.client import Client
host = "http://127.0.0.1:8080"
analytics = Client(os.environ["WRITE_KEY"], host=host, upload_size=3, gzip=True)
for n in range(${PEOPLE}):
    analytics.track(f"p-{n}", f"event {n}")
analytics.shutdown()`,
      async (program) => runPython(program, await keyOf()),
      () => spawnSync(python, ["-c", "import segment.analytics"]).status === 0,
    ],
  ];
  for (const [name, language, many, runProgram, isInstalled] of sdks) {
    it(`${name} runs as in docs/segment.md`, async function () {
      if (!isInstalled()) return this.skip();
      await runProgram(shown(language).replace("http://127.0.0.1:8080", service.url));
      const { email, plan, account_id } = await attributes("user/user_id/u-8");
      expect({ email, plan, account_id }).to.deep.equal({
        email: "joe@example.com",
        plan: "trial",
        account_id: "acme",
      });
      expect(await attributes("account/acme")).to.include({ account_id: "acme", plan: "team" });
      expect(await counted()).to.equal(3);
    });

    it(`${name} loses and doubles no message if a fifth of the responses is dropped`, async function () {
      if (!isInstalled()) return this.skip();
      await runProgram(many.replace("http://127.0.0.1:8080", proxy.url));
      expect(proxy.dropped).to.be.at.least(PEOPLE / 3 / 5);
      expect(await counted()).to.equal(PEOPLE);
      for (let n = 0; n < PEOPLE; n += 1) expect((await attributes(`user/user_id/p-${n}`)).user_id).to.equal(`p-${n}`);
    });
  }

  describe("in a page of another origin", () => {
    let browser: Browser | undefined;
    before(async function () {
      browser = await openBrowser();
      if (browser === undefined) this.skip();
    });
    after(() => browser?.close());

    /** Opens a page with a key that is bound to its origin, until this number of calls has arrived. */
    async function open(html: string, url: string, calls: number): Promise<void> {
      const origin = await openSite(async (origin) => {
        const key = await keyOf({ origins: [origin], stream: "web" });
        return html.replace("127.0.0.1:8080", new URL(url).host).replace("em_…", key);
      });
      const page = await (browser as Browser).newPage();
      await page.goto(origin);
      await until("the calls of the page have arrived", async () => (await counted()) >= calls, 60_000);
      await page.close();
    }

    it("analytics-next runs as in docs/segment.md", async () => {
      await open(shown("html"), service.url, 2);
      expect((await attributes("user/user_id/u-8")).plan).to.equal("trial");
    });

    it("analytics-next loses and doubles no message if a fifth of the responses is dropped", async () => {
      const [head = ""] = shown("html").split("analytics.identify");
      await open(`${head}${loop('analytics.track("x");')}</script>`, proxy.url, PEOPLE);
      expect(proxy.dropped).to.be.at.least(PEOPLE / 5);
      expect(await counted()).to.equal(PEOPLE);
    });
  });
});
