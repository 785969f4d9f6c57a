import { expect } from "chai";
import type { Page, Request } from "playwright-core";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { type Opened, type OpenOptions, state } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

describe("the dashboard while it is used", function () {
  this.timeout(60_000);
  let now = NOW;
  const on = stage(async () => {
    const service = await startService({}, { clock: () => now });
    await fillService(service);
    return service;
  });
  afterEach(() => {
    now = NOW;
  });

  async function open(search: string, options: Partial<OpenOptions> = {}): Promise<Opened> {
    const one = await on.open(search, options);
    await state(one.page, "ready");
    return one;
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
  const focused = (page: Page, what: string) => page.evaluate<string>(`document.activeElement.${what}`);
  const picker = (page: Page) => page.getByRole("combobox", { name: /series/i });
  const status = (page: Page) => page.locator("header [role=status]");
  const cardOf = (page: Page, name: string) =>
    page.locator("section.card", { has: page.getByRole("heading", { name, exact: true }) });

  describe("a refresh by the timer", () => {
    it("waits while a field is typed into, and comes when it is left", async () => {
      const { page, requests } = await open("?view=erasure");
      await page.getByLabel("Identity").focus();
      await page.keyboard.type("web-");
      requests.length = 0;
      await page.clock.fastForward(20_000);
      await page.clock.fastForward(20_000);
      await page.keyboard.type("1r2");
      expect(await page.getByLabel("Identity").inputValue()).to.equal("web-1r2");
      expect(await page.getAttribute("main", "data-view")).to.equal("erasure");
      expect(requests).to.deep.equal([]);
      await page.getByRole("link", { name: "Health" }).focus();
      await page.clock.fastForward(2_000);
      await until("the page asks again", () => requests.includes("GET /api/deletion"));
    });

    it("draws nothing over a field that is typed into when the answer arrives", async () => {
      const { page } = await open("?view=explore&series=stream.web.size");
      const held = await hold(page, /\/api\/metric/);
      await page.clock.fastForward(HOUR / 4);
      await until("the page asks again", held.arrived);
      await picker(page).focus();
      await page.keyboard.type("mob");
      await held.release();
      await state(page, "ready");
      expect(await picker(page).inputValue()).to.equal("mob");
      expect(await focused(page, "role")).to.equal("combobox");
    });
  });

  describe("what is drawn anew", () => {
    it("keeps the focus, the table that is open, how far it is scrolled, and the place in the chart", async () => {
      const { page } = await open("?view=explore&series=stream.web.size&range=1d&interval=1h");
      await page.getByText("Values as a table").click();
      await page.evaluate("document.querySelector('.values').scrollTop = 120");
      await page.evaluate("scrollTo(0, 90)");
      await page.evaluate("document.querySelector('[role=img]').focus({ preventScroll: true })");
      for (const key of ["ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
      const scrolled = () => page.evaluate<number[]>("[scrollY, document.querySelector('.values').scrollTop]");
      const before = await scrolled();
      expect(Math.min(...before)).to.be.above(0);
      await page.evaluate("document.querySelector('figure').id = 'old'");
      await page.keyboard.press("r");
      await page.waitForSelector("figure:not(#old)");
      expect(await page.locator("details").getAttribute("open")).to.equal("");
      expect(await scrolled()).to.deep.equal(before);
      expect(await focused(page, "role")).to.equal("img");
      await page.keyboard.press("ArrowLeft");
      expect(await page.locator("[aria-live=polite]").textContent()).to.include("19:00 UTC");
    });

    it("keeps the focus on a link of the bar, and in the picker when a series was taken", async () => {
      const { page } = await open("?view=segments");
      await page.getByRole("link", { name: "Explore" }).focus();
      await page.keyboard.press("Enter");
      await page.waitForSelector("main[data-view=explore][data-state=ready]");
      expect(await focused(page, "textContent")).to.equal("Explore");
      await picker(page).focus();
      await page.keyboard.type("mob");
      await page.getByRole("option", { name: /mobile/ }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForSelector('th[data-series="stream.mobile.size"]', { state: "attached" });
      expect(await picker(page).getAttribute("aria-expanded")).to.equal("false");
      await page.keyboard.type("1");
      expect(await picker(page).inputValue()).to.equal("1");
      expect(await page.getAttribute("main", "data-view")).to.equal("explore");
    });
  });

  describe("what goes wrong", () => {
    it("Explore names each series that is wrong where all of them are, and another can be taken", async () => {
      const { page } = await open("?view=explore&series=stream.web.nothing&series=stream.mobile.nothing");
      expect(await page.locator(".legend li").allInnerTexts()).to.have.length(2);
      expect(await page.innerText(".legend")).to.match(/stream\.web\.nothing: .*\n*stream\.mobile\.nothing: ./);
      await page.getByRole("button", { name: "Remove stream.web.nothing" }).click();
      await page.waitForURL((url) => !url.search.includes("web"));
    });

    it("an answer that does not come within 30 s is given up, and asked for again", async () => {
      const { page } = await open("?view=segments", {
        prepare: async (page) => {
          await page.addInitScript(`AbortSignal.timeout = (ms) => {
            const limit = new AbortController();
            setTimeout(() => limit.abort(new DOMException("late", "TimeoutError")), ms);
            return limit.signal;
          }`);
        },
      });
      const held = await hold(page, /\/api\/stream/);
      await page.getByRole("link", { name: "Streams" }).click();
      await until("the page asks", held.arrived);
      await page.clock.fastForward(31_000);
      await state(page, "stale");
      expect(await page.getByRole("alert").innerText()).to.include("did not answer within 30 s");
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await page.clock.fastForward(11_000);
      await state(page, "ready");
    });

    it("a view that fails does not claim to be as of the view before", async () => {
      const { page } = await open("?view=segments");
      expect(await status(page).innerText()).to.include("as of 21:52");
      const body = JSON.stringify({ status: 503, message: "Busy for now" });
      await page.route(/\/api\/stream/, (route) => route.fulfill({ status: 503, body }));
      await page.getByRole("link", { name: "Streams" }).click();
      await state(page, "stale");
      expect(await status(page).innerText()).to.equal("The service says: Busy for now");
    });

    it("a view whose script is not loaded offers to reload the page", async () => {
      const { page } = await open("?view=segments");
      await page.route(/page\/streams\.js/, (route) => route.abort());
      await page.getByRole("link", { name: "Streams" }).click();
      await state(page, "stale");
      await page.unrouteAll();
      await page.getByRole("link", { name: "Reload the page" }).click();
      await page.waitForSelector("main[data-view=streams][data-state=ready]");
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
      const { key, id } = await on.newKey(["metric:read"]);
      const { page, requests } = await open("?view=explore", { key });
      await picker(page).focus();
      await page.getByRole("option", { name: /web/ }).waitFor();
      await on.service.service.stores.keys.revoke(id, NOW);
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
