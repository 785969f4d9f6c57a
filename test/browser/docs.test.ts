import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { startService, type TestService } from "../support/service.js";
import { axeFindings, openBrowser, sideways } from "./browser.js";

describe("/docs and / in Chromium", function () {
  this.timeout(120_000);
  let browser: Browser;
  let service: TestService;

  before(async function () {
    const found = await openBrowser();
    if (found === undefined) return this.skip();
    browser = found;
    service = await startService();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function open(colorScheme: "light" | "dark"): Promise<{ page: Page; errors: string[] }> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme, bypassCSP: true });
    page.setDefaultTimeout(60_000);
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(`${service.url}/docs`);
    await page.locator(".opblock").first().waitFor();
    await page.getByLabel("API key").fill(service.key);
    await page.evaluate(tryOut);
    return { page, errors };
  }
  const tried = (page: Page, operation: string) => page.evaluate<string>(`tryOut("operations-${operation}")`);

  it("fits into 1280 and 390 px, and what an operation that was tried shows is legible in the dark", async () => {
    const { page, errors } = await open("dark");
    await tried(page, "metrics-fetchMetrics");
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await sideways(page), `${width} px`).to.equal(0);
    }
    expect(await axeFindings(page, "#operations-metrics-fetchMetrics .opblock-body", "color-contrast")).to.deep.equal(
      [],
    );
    expect(errors).to.deep.equal([]);
    await page.close();
  });

  for (const scheme of ["light", "dark"] as const) {
    it(`has no text of too little contrast in ${scheme} mode, whatever the method of an operation is`, async () => {
      const { page } = await open(scheme);
      for (const operation of ["metrics-fetchMetric", "metrics-writePoints", "catalogue-putSegment"])
        await tried(page, operation);
      expect(await axeFindings(page, "html", "color-contrast")).to.deep.equal([]);
      await page.close();
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

  // Every example is sent by test/http/openapi-examples.test.ts; here are the kinds of bodies and parameters that Swagger UI puts together.
  it("Try it out succeeds as it stands: JSON, line protocol, parameters of the path and the query", async () => {
    const { page, errors } = await open("light");
    for (const [operation, status] of [
      ["collecting-collectMessages", "200"],
      ["metrics-writeLineProtocol", "204"],
      ["metrics-fetchMetric", "200"],
      ["entities-readEntity", "200"],
    ])
      expect(await tried(page, operation as string), operation).to.equal(status);
    expect(errors).to.deep.equal([]);
    await page.close();
  });
});

/** In the page: unfolds an operation, tries it out, and hands out the status that it shows. */
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
