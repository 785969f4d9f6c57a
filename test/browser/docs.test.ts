import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { startService, type TestService } from "../support/service.js";
import { axeFindings, openBrowser, sideways } from "./browser.js";

describe("in a browser,", function () {
  this.timeout(120_000);
  let browser: Browser;
  let service: TestService;
  /** /docs, which takes seconds to load. */
  let docs: Page;
  const errors: string[] = [];
  /** The status of each operation that was tried. */
  const statuses = new Map<string, string>();

  before(async function () {
    const found = await openBrowser();
    if (found === undefined) return this.skip();
    browser = found;
    service = await startService();
    docs = await browser.newPage({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
    docs.setDefaultTimeout(60_000);
    docs.on("pageerror", (error) => errors.push(String(error)));
    await docs.goto(`${service.url}/docs`);
    await docs.locator(".opblock").first().waitFor();
    await docs.getByLabel("API key").fill(service.key);
    await docs.evaluate(tryOut);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function tried(operation: string): Promise<string> {
    const status = statuses.get(operation) ?? (await docs.evaluate<string>(`tryOut("operations-${operation}")`));
    statuses.set(operation, status);
    return status;
  }

  // test/http/openapi-examples.test.ts sends every example; this test has the kinds of bodies that Swagger UI builds.
  it("Try it out of /docs succeeds unchanged for JSON, line protocol, and parameters of path and query", async () => {
    for (const [operation, status] of [
      ["collecting-collectMessages", "200"],
      ["metrics-writeLineProtocol", "204"],
      ["metrics-fetchMetric", "200"],
      ["entities-readEntity", "200"],
    ] as const)
      expect(await tried(operation), operation).to.equal(status);
    expect(errors).to.deep.equal([]);
  });

  it("/docs fits into 1280 and 390 px with an operation that was tried", async () => {
    await tried("metrics-fetchMetrics");
    for (const width of [390, 1280]) {
      await docs.setViewportSize({ width, height: 900 });
      expect(await sideways(docs), `${width} px`).to.equal(0);
    }
    expect(errors).to.deep.equal([]);
  });

  for (const scheme of ["light", "dark"] as const) {
    it(`/docs has no text of too little contrast in ${scheme} mode, for a tried operation of each method`, async () => {
      await docs.emulateMedia({ colorScheme: scheme });
      for (const operation of ["metrics-fetchMetric", "metrics-writePoints", "catalogue-putSegment"])
        await tried(operation);
      // Swagger UI animates the change from one colour scheme to the other.
      await docs.evaluate("Promise.allSettled(document.getAnimations().map(({ finished }) => finished))");
      expect(await axeFindings(docs, "html", "color-contrast")).to.deep.equal([]);
    });

    it(`/ has no serious finding of axe in ${scheme} mode, fits into 390 px and is one screen of 1280 px`, async () => {
      const page = await browser.newPage({
        viewport: { width: 1280, height: 800 },
        colorScheme: scheme,
        bypassCSP: true,
      });
      await page.goto(service.url);
      expect(await axeFindings(page)).to.deep.equal([]);
      expect(await page.getByRole("main").count()).to.equal(1);
      expect(await page.evaluate<number>("document.documentElement.scrollHeight")).to.be.at.most(800);
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await sideways(page)).to.equal(0);
      expect(await axeFindings(page)).to.deep.equal([]);
      await page.close();
    });
  }
});

/** Opens an operation in the page, tries it out, and returns the status that it shows. */
const tryOut = `globalThis.tryOut = async (id) => {
  const block = document.getElementById(id);
  const found = async (selector) => {
    for (;;) {
      const one = block.querySelector(selector);
      if (one !== null) return one;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  (await found(".opblock-summary-control")).click();
  (await found(".try-out__btn")).click();
  (await found(".execute")).click();
  return (await found(".live-responses-table tbody .response-col_status")).textContent.trim();
}`;
