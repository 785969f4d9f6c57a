import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import type { KeyBounds } from "../../src/keys/api-key.js";
import { pageText } from "../support/readme.js";
import { newKey, startService, type TestService } from "../support/service.js";
import { openBrowser } from "./browser.js";

/** The page that the documentation shows. */
const [, shownPage = ""] = /^```html\n([\s\S]*?)^```$/m.exec(pageText("docs/keys-for-browsers.md")) ?? [];

describe("a page of another origin", function () {
  this.timeout(60_000);
  let browser: Browser | undefined;
  let service: TestService;
  let html = "";
  const sites: Server[] = [];

  before(async function () {
    browser = await openBrowser();
    if (browser === undefined) return this.skip();
    service = await startService();
    const ada = { _uid: "3f9c2a71", email: "ada@example.com", plan: "trial", city: "London" };
    await service.fetch("/collect/json/web", { method: "POST", json: ada });
  });
  after(async () => {
    await browser?.close();
    for (const site of sites) site.close();
    await service?.stop();
  });

  /** Serves the page; returns its origin. */
  async function openSite(): Promise<string> {
    const site = createServer((_req, res) => res.setHeader("Content-Type", "text/html; charset=utf-8").end(html));
    sites.push(site);
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    return `http://localhost:${(site.address() as AddressInfo).port}`;
  }

  /** Opens the page with a key of these bounds. Returns its text, empty where the browser hides the response. */
  async function shown(origin: string, bounds: KeyBounds, times = 1): Promise<string> {
    const { key } = await newKey(service, ["entity:read"], Date.now(), bounds);
    html = shownPage.replace("http://127.0.0.1:8080", service.url).replace("em_…", key);
    const page = await (browser as Browser).newPage();
    let text = "";
    for (let i = 0; i < times; i += 1) {
      const settled = page.waitForEvent("requestfinished", ({ url }) => url().includes("/api/me/")).catch(() => {});
      const failed = page.waitForEvent("requestfailed").catch(() => {});
      await page.goto(origin);
      await Promise.race([settled, failed]);
      const plan = page.locator("#plan");
      await plan
        .filter({ hasText: /./ })
        .waitFor({ timeout: 1_000 })
        .catch(() => {});
      text = await plan.innerText();
    }
    await page.close();
    return text;
  }

  it("reads the attributes that its key allows and the reason of a refusal, unlike other origins (P32)", async () => {
    expect(shownPage.trim().split("\n")).to.have.length(10);
    const [site, other] = [await openSite(), await openSite()];
    const bounds = { by: "_uid", fields: ["plan", "city"], origins: [site] };
    expect(await shown(site, bounds)).to.equal("trial in London");
    expect(await shown(site, { ...bounds, fields: ["plan"] })).to.equal("trial in undefined");
    expect(await shown(site, { ...bounds, by: "email" })).to.equal("The key does not allow this request (bound by)");
    expect(await shown(site, { ...bounds, rate: 1 }, 2)).to.match(
      /^The key exceeds its bound rate; try again in \d+ s$/,
    );
    expect(await shown(other, bounds)).to.equal("");
    expect(await shown(other, { ...bounds, origins: [other] })).to.equal("trial in London");
    expect(await shown(site, { ...bounds, origins: [other] })).to.equal("");
  });
});
