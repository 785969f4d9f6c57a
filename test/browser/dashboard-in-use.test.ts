import { expect } from "chai";
import type { Browser, Page, Request } from "playwright-core";
import type { Scope } from "../../src/keys/api-key.js";
import { mintKey } from "../../src/keys/verify-key.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { type Opened, type OpenOptions, openBrowser, openDashboard, state } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";

describe("the dashboard while it is used", function () {
  this.timeout(60_000);
  let browser: Browser;
  let service: TestService;
  let now = NOW;
  const opened: Opened[] = [];

  before(async function () {
    const found = await openBrowser();
    if (found === undefined) return this.skip();
    browser = found;
    service = await startService({}, { clock: () => now });
    await fillService(service);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });
  afterEach(async () => {
    now = NOW;
    for (const { page } of opened.splice(0)) await page.context().close();
  });

  async function open(search: string, options: Partial<OpenOptions> = {}): Promise<Opened> {
    const one = await openDashboard(browser, service, { now: NOW, search, ...options });
    opened.push(one);
    await state(one.page, "ready");
    return one;
  }
  async function newKey(scopes: Scope[]): Promise<{ key: string; id: string }> {
    const { key, kept } = mintKey("a test", scopes, NOW);
    await service.service.stores.keys.add(kept);
    return { key, id: kept.id };
  }
  /** Holds the requests to an address back until they are released, and from then on lets them pass. */
  async function hold(page: Page, address: RegExp): Promise<{ arrived(): boolean; release(): Promise<unknown> }> {
    let letGo: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let arrived = false;
    await page.route(address, async (route) => {
      arrived = true;
      await held;
      await route.continue().catch(() => undefined);
    });
    const isIt = (request: Request) => address.test(request.url());
    const ended = Promise.race([page.waitForEvent("requestfinished", isIt), page.waitForEvent("requestfailed", isIt)]);
    const release = () => {
      letGo();
      return ended;
    };
    return { arrived: () => arrived, release };
  }
  const picker = (page: Page) => page.getByRole("combobox", { name: /series/i });
  const cardOf = (page: Page, name: string) =>
    page.locator("section.card", { has: page.getByRole("heading", { name, exact: true }) });

  describe("what goes wrong", () => {
    it("Explore names each series that is wrong where all of them are, and another can be taken", async () => {
      const { page } = await open("?view=explore&series=stream.web.nothing&series=stream.mobile.nothing");
      expect(await page.locator(".legend li").allInnerTexts()).to.have.length(2);
      expect(await page.innerText(".legend")).to.match(/stream\.web\.nothing: .*\n*stream\.mobile\.nothing: ./);
      await page.getByRole("button", { name: "Remove stream.web.nothing" }).click();
      await page.waitForURL((url) => !url.search.includes("web"));
    });

    it("a search of the picker that ends after the picker was left opens no list", async () => {
      const { page } = await open("?view=explore");
      const held = await hold(page, /\/api\/series/);
      await picker(page).focus();
      await until("the picker asks", held.arrived);
      await page.getByLabel("Interval").focus();
      await held.release();
      expect(await picker(page).getAttribute("aria-expanded")).to.equal("false");
      expect(await page.getByRole("listbox").count()).to.equal(0);
    });

    it("the picker asks once with a key that was revoked, and the page says so", async () => {
      const { key, id } = await newKey(["metric:read"]);
      const { page, requests } = await open("?view=explore", { key });
      await picker(page).focus();
      await page.getByRole("option", { name: /web/ }).waitFor();
      await service.service.stores.keys.revoke(id, NOW);
      now += HOUR;
      requests.length = 0;
      await page.keyboard.press("w");
      await state(page, "wrong-key");
      expect(requests).to.deep.equal(["GET /api/series", "GET /api/key"]);
    });
  });

  describe("figures and links", () => {
    for (const search of ["?range=7d", "?range=52w", "?range=1d&smooth=true&compare=true"]) {
      it(`the last day stands against the day before, hour for hour, with ${search}`, async () => {
        const { page, requests } = await open(search);
        const card = await cardOf(page, "Messages, last 24 h").innerText();
        expect(card).to.include("2,268").and.include("±0 % against the day before");
        expect(requests.filter((one) => one === "POST /api/metric")).to.have.length(1);
      });
    }

    it("Streams says what was saved in the last 24 h where no message was counted", async () => {
      const { page } = await open("?view=streams&range=52w");
      const row = page.getByRole("table", { name: "Streams" }).getByRole("row", { name: /^web/ });
      expect(await row.locator("td").nth(2).innerText()).to.equal("516");
    });

    it("a link of a table opens in another tab with Ctrl, and shows there what it shows here", async () => {
      const { page } = await open("?range=2d&compare=true");
      const another = page.context().waitForEvent("page");
      await page.getByRole("link", { name: "The buyers" }).click({ modifiers: ["ControlOrMeta"] });
      const tab = await another;
      await tab.waitForURL(/view=segments/);
      const query = new URL(tab.url()).searchParams;
      expect(Object.fromEntries(query)).to.include({ view: "segments", range: "2d", compare: "true" });
      expect(await page.getAttribute("main", "data-view")).to.equal("overview");
    });
  });

  it("Erasure arms only what was previewed: counts that arrive for an identity typed before do not", async () => {
    const { page } = await open("?view=erasure");
    await page.getByLabel("Field", { exact: true }).fill("email");
    const identity = page.getByLabel("Identity");
    await identity.fill("web-1@example.org");
    const held = await hold(page, /\/api\/deletion\/preview/);
    await page.getByRole("button", { name: "Preview" }).click();
    await until("the page asks", held.arrived);
    await identity.fill("mobile-1@example.org");
    await held.release();
    const erase = page.getByRole("button", { name: "Erase", exact: true });
    const word = page.getByLabel(/^Type ERASE/);
    await word.fill("ERASE");
    expect(await erase.isDisabled()).to.equal(true);
    const preview = page.locator("table", { hasText: "What would be removed" });
    expect(await preview.count()).to.equal(0);
    await page.getByRole("button", { name: "Preview" }).click();
    await preview.waitFor();
    expect(await preview.innerText()).to.include("1 of mobile");
    expect(await erase.isDisabled()).to.equal(false);
    await identity.fill("web-2@example.org");
    expect(await erase.isDisabled()).to.equal(true);
    expect(await preview.count()).to.equal(0);
  });
});
