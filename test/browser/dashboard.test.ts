import { readFileSync } from "node:fs";
import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { axeFindings, type Opened, sideways, state } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const MINUTE = 60_000;
const views = {
  overview: "Overview",
  segments: "Segments",
  experiences: "Experiences",
  streams: "Streams",
  explore: "Explore",
  erasure: "Erasure",
  health: "Health",
} as const;

describe("the dashboard in Chromium", function () {
  this.timeout(60_000);
  let empty: TestService;
  let nowOfEmpty = NOW;
  const on = stage(async () => {
    empty = await startService({}, { clock: () => nowOfEmpty });
    const service = await startService({}, { clock: () => NOW });
    await fillService(service);
    return service;
  });
  after(() => empty?.stop());
  const { open, newKey } = on;

  const isRefusal = (text: string) => text.startsWith("Failed to load resource");
  /** Nothing was reported besides the requests that the test made fail. */
  const onlyRefusals = ({ errors }: Opened) => expect(errors.filter((text) => !isRefusal(text))).to.deep.equal([]);

  describe("each view", () => {
    for (const [view, label] of Object.entries(views)) {
      const search =
        view === "explore" ? "?view=explore&series=stream.web.size&series=segment.buyers.size" : `?view=${view}`;
      it(`${label} fits into 1280 and 390 px in light and dark, and axe has no serious finding`, async () => {
        const { page, errors } = await open(search, { bypassCSP: true });
        await state(page, "ready");
        expect(await page.title()).to.equal(`${label} · entity-metrics`);
        expect(await page.locator("nav a[aria-current=page]").innerText()).to.equal(label);
        expect(await page.getAttribute("main", "data-view")).to.equal(view);
        for (const [width, ...schemes] of [
          [1280, "dark", "light"],
          [390, "light", "dark"],
        ] as const) {
          await page.setViewportSize({ width, height: 900 });
          for (const colorScheme of schemes) {
            await page.emulateMedia({ colorScheme });
            expect(await sideways(page), `${width} px, ${colorScheme}`).to.equal(0);
            const fits =
              "[...document.querySelectorAll('.drawing')].every((one) => one.scrollWidth <= one.clientWidth)";
            await until("the charts are drawn anew", () => page.evaluate<boolean>(fits));
          }
          // Sizes are those of the width, colours those of the scheme: each was looked at once.
          expect(await axeFindings(page), `${width} px`).to.deep.equal([]);
        }
        expect(errors).to.deep.equal([]);
      });
    }

    it("a script of another origin's making in the page is a violation that these tests see", async () => {
      const { page, errors } = await open();
      await state(page, "ready");
      await page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), { textContent: '0' }))",
      );
      expect(errors.join()).to.include("Content Security Policy");
    });

    const asks: Record<keyof typeof views, string[]> = {
      overview: [
        "GET /api/deletion",
        "GET /api/experience",
        "GET /api/segment/sizes",
        "GET /api/stream",
        "GET /ready",
        "POST /api/metric",
      ],
      segments: ["GET /api/segment/sizes", "POST /api/metric"],
      experiences: ["GET /api/experience", "POST /api/metric"],
      streams: ["GET /api/stream", "POST /api/metric"],
      explore: ["POST /api/metric"],
      erasure: ["GET /api/deletion", "GET /api/deletion"],
      health: ["GET /metrics", "GET /ready"],
    };
    it("asks for its key first and alone, then for what it shows and nothing else; it breaks no rule of the policy", async () => {
      for (const [view, expected] of Object.entries(asks)) {
        const series = view === "explore" ? "&series=stream.web.size&series=stream.mobile.size" : "";
        const { page, requests, errors } = await open(`?view=${view}&compare=true${series}`);
        await state(page, "ready");
        expect(errors, view).to.deep.equal([]);
        const [first, ...others] = requests;
        expect(first, view).to.equal("GET /api/key");
        expect(others.sort(), view).to.deep.equal(expected);
      }
    });

    it("asks again by one timer, 2 to 5 s after the next save", async () => {
      const { page, requests } = await open("?view=segments");
      await state(page, "ready");
      requests.length = 0;
      await page.clock.fastForward(8 * MINUTE - 10_000 + 1_000 - 2_000);
      expect(requests).to.deep.equal([]);
      await page.clock.fastForward(7_000);
      await until("the page asks again", () => requests.includes("POST /api/metric"));
      expect(requests.filter((one) => one === "POST /api/metric")).to.have.length(1);
    });
  });

  describe("states", () => {
    it("without a key it says what a key is, and sends no request; a key that is typed opens it, and can be forgotten", async () => {
      const one = await open("", { key: null });
      const { page, requests } = one;
      await state(page, "no-key");
      expect(await page.innerText("main")).to.include("npm run key -- create");
      await page.clock.fastForward(HOUR);
      expect(requests).to.deep.equal([]);
      await page.getByLabel("API key").fill(on.service.key);
      await page.keyboard.press("Enter");
      await state(page, "ready");
      expect(page.url()).to.not.include(on.service.key);
      expect(await page.evaluate("localStorage.length")).to.equal(0);
      await page.getByRole("button", { name: "Key", exact: true }).click();
      await page.getByRole("button", { name: "Forget it" }).click();
      await state(page, "no-key");
      expect(await page.evaluate("sessionStorage.getItem('api-key')")).to.equal(null);
      expect(one.errors).to.deep.equal([]);
    });

    it("a key with a character that no key has is refused, and not tried", async () => {
      const one = await open("", { key: null });
      const { page, requests } = one;
      await state(page, "no-key");
      await page.getByLabel("API key").fill("em_…");
      await page.keyboard.press("Enter");
      await state(page, "wrong-key");
      expect(await page.innerText("main [role=alert]")).to.include("a character that no key has");
      await page.reload();
      await state(page, "wrong-key");
      await page.clock.fastForward(HOUR);
      expect(requests).to.deep.equal([]);
      expect(one.errors).to.deep.equal([]);
    });

    it("a wrong key is tried once, on /api/key alone, and never again", async () => {
      const one = await open("", { key: "em_unknown_0123456789abcdef0123456789abcdef" });
      await state(one.page, "wrong-key");
      await one.page.clock.fastForward(HOUR);
      expect(one.requests).to.deep.equal(["GET /api/key"]);
      onlyRefusals(one);
    });

    it("a key that is revoked ends the polling with its first request", async () => {
      const { key, id } = await newKey(["metric:read"], empty);
      const one = await open("?view=health", { key }, empty);
      await state(one.page, "ready");
      await empty.service.stores.keys.revoke(id, NOW);
      nowOfEmpty += HOUR;
      one.requests.length = 0;
      await one.page.clock.fastForward(MINUTE);
      await state(one.page, "wrong-key");
      await one.page.clock.fastForward(HOUR);
      expect(one.requests).to.deep.equal(["GET /api/key"]);
      onlyRefusals(one);
    });

    it("what a key may not see is named in its card, or keeps a lock in the bar; the rest is shown", async () => {
      const { key } = await newKey(["metric:read"]);
      const { page, requests, errors } = await open("", { key });
      await state(page, "ready");
      const card = page.locator("section", { has: page.getByRole("heading", { name: "Open erasures" }) });
      expect(await card.innerText()).to.include("entity:delete");
      expect(await page.locator("figure").count()).to.equal(1);
      expect(requests).to.not.include("GET /api/deletion");
      await page.getByRole("link", { name: /Erasure/ }).click();
      await page.getByRole("heading", { name: "Erasure needs another key" }).waitFor();
      expect(await page.innerText("main")).to.include("--scopes entity:delete");
      expect(errors).to.deep.equal([]);
    });

    it("a 403 is said in its card alone", async () => {
      const body = JSON.stringify({ status: 403, message: "Forbidden", errors: [{ message: "Not for this key" }] });
      const one = await open("", {
        prepare: async (page) => {
          await page.route(/\/api\/experience/, (route) => route.fulfill({ status: 403, body }));
        },
      });
      await state(one.page, "ready");
      const said = one.page.locator("section", { hasText: "Not for this key" });
      expect(await said.locator("h2").allInnerTexts()).to.deep.equal(["Experiences"]);
      expect(await one.page.locator("figure").count()).to.equal(1);
      onlyRefusals(one);
    });

    for (const status of [429, 503]) {
      it(`${status} leaves the last figures, greyed, and asks again after Retry-After`, async () => {
        const one = await open("?view=segments");
        const { page, requests } = one;
        await state(page, "ready");
        const figures = await page.locator("figure").innerText();
        await page.route(/\/api\/metric/, (route) =>
          route.fulfill({
            status,
            headers: { "retry-after": "30" },
            body: JSON.stringify({ status, message: "Busy for now" }),
          }),
        );
        await page.keyboard.press("r");
        await state(page, "stale");
        expect(await page.locator("figure").innerText()).to.equal(figures);
        expect(await page.getByRole("status").first().innerText()).to.match(/as of 21:52.*Busy for now/);
        await page.unroute(/\/api\/metric/);
        requests.length = 0;
        await page.clock.fastForward(25_000);
        expect(requests).to.deep.equal([]);
        await page.clock.fastForward(6_000);
        await state(page, "ready");
        onlyRefusals(one);
      });
    }

    it("a skeleton stands in for what is not yet there; a refresh blinks nothing", async () => {
      let release: () => void = () => {};
      let held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const { page } = await open("?view=segments", {
        prepare: async (page) => {
          await page.route(/\/api\/metric/, async (route) => {
            await held;
            await route.continue();
          });
        },
      });
      await page.waitForSelector("main[data-state=loading][aria-busy=true] .skeleton");
      release();
      await state(page, "ready");
      held = new Promise((resolve) => {
        release = resolve;
      });
      await page.keyboard.press("r");
      await page.waitForSelector("main[aria-busy=true]");
      expect(await page.getAttribute("main", "data-state")).to.equal("ready");
      expect(await page.locator("figure").count()).to.equal(1);
      release();
      await state(page, "ready");
    });

    for (const view of ["overview", "segments", "streams", "experiences"]) {
      it(`${view} of an empty service says how to begin`, async () => {
        const { page, errors } = await open(`?view=${view}`, {}, empty);
        await state(page, "empty");
        const text = await page.innerText("main");
        if (view === "experiences") expect(text).to.include("api/experience/welcome");
        else expect(text).to.include("collect/json/web").and.include("22:00");
        await page.setViewportSize({ width: 390, height: 900 });
        expect(await sideways(page)).to.equal(0);
        expect(errors).to.deep.equal([]);
      });
    }

    it("a window without a point says so", async () => {
      const { page } = await open("?view=explore&series=stream.quiet.size");
      await state(page, "ready");
      expect(await page.getByRole("img").getAttribute("aria-label")).to.include("nothing was saved");
      expect(await page.innerText("figure")).to.include("Nothing was saved in this window.");
    });

    it("one series that is refused has its words in the legend; the others are drawn", async () => {
      const { page } = await open("?view=explore&series=stream.web.size&series=stream.web.nothing");
      await state(page, "ready");
      const legend = page.locator(".legend");
      expect(await legend.innerText()).to.match(/stream\.web\.size \d+[\s\S]*stream\.web\.nothing: ./);
      expect(await page.locator("th[data-series]").count()).to.equal(1);
    });

    it("an unfinished bucket looks unfinished, and only that one", async () => {
      const { page } = await open("?view=explore&series=stream.web.size&range=1d&interval=1h");
      await state(page, "ready");
      const marked = page.locator("tr", { has: page.locator("td[data-unfinished]") });
      const times = await marked.locator("time").evaluateAll((all) => all.map((one) => one.getAttribute("datetime")));
      expect(times).to.deep.equal([new Date(Math.floor(NOW / HOUR) * HOUR).toISOString()]);
      expect(await page.locator("td[data-unfinished]").textContent()).to.include("not complete");
      expect(await page.locator(".legend").innerText()).to.include("not complete");
      expect(await page.locator("tbody tr").count()).to.be.within(23, 25);
    });

    it("with Compare the window before stands beside, bucket for bucket", async () => {
      const { page } = await open("?view=explore&series=stream.web.size&range=7d&interval=1d&aggregation=sum");
      await state(page, "ready");
      await page.getByLabel("Compare").check();
      await page.waitForSelector("th[data-compare]", { state: "attached" });
      expect(page.url()).to.include("compare=true");
      const heads = await page.locator("th[data-series]").evaluateAll((all) => all.map((one) => one.textContent));
      expect(heads).to.deep.equal(["stream.web.size", "stream.web.size, before"]);
      const whole = page.locator("tbody tr").nth(2).locator("data");
      const values = await whole.evaluateAll((all) => all.map((one) => one.getAttribute("value")));
      const day = Array.from({ length: 24 }, (_, hour) => 10 + hour).reduce((sum, value) => sum + value, 0);
      expect(values).to.deep.equal([String(day), String(day)]);
    });
  });

  describe("by the keyboard alone", () => {
    it("the first stop skips to the content; ? lists the keys; figures open the views", async () => {
      const { page } = await open();
      await state(page, "ready");
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).to.include("Skip to the content");
      await page.keyboard.press("Enter");
      expect(await page.evaluate("document.activeElement.id")).to.equal("main");
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      for (const [index, view] of Object.keys(views).entries()) {
        await page.keyboard.press(String(index + 1));
        await page.waitForSelector(`main[data-view=${view}][data-state=ready]`);
      }
    });

    it("arrow keys walk along the points of a chart, and a live region reads them", async () => {
      const { page } = await open("?view=explore&series=stream.web.size&range=1d&interval=1h");
      await state(page, "ready");
      await page.getByRole("img").focus();
      const said = page.locator("[aria-live=polite]");
      await page.keyboard.press("ArrowLeft");
      expect(await said.textContent()).to.match(/20 Nov 2026, 21:00 UTC: stream\.web\.size \d+ \(not complete\)/);
      await page.keyboard.press("ArrowLeft");
      expect(await said.textContent()).to.match(/20:00 UTC: stream\.web\.size \d+$/);
      await page.keyboard.press("ArrowRight");
      expect(await said.textContent()).to.include("21:00 UTC");
    });

    it("Tab leads from the open list of the picker to the next field", async () => {
      const { page } = await open("?view=explore");
      await state(page, "ready");
      await page.getByRole("combobox", { name: /series/i }).focus();
      const list = page.getByRole("listbox");
      await list.getByRole("option").first().waitFor();
      expect(await list.evaluate((one) => one.scrollHeight > one.clientHeight)).to.equal(true);
      await page.keyboard.press("Tab");
      expect(await page.getByLabel("Interval").evaluate((one) => one.matches(":focus"))).to.equal(true);
      expect(await list.count()).to.equal(0);
    });

    it("a series is taken from the picker by arrow down and Enter", async () => {
      const { page } = await open("?view=explore");
      await state(page, "ready");
      await page.getByRole("combobox", { name: /series/i }).focus();
      await page.keyboard.type("mob");
      await page.getByRole("option", { name: /mobile/ }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForSelector('th[data-series="stream.mobile.size"]', { state: "attached" });
      expect(new URL(page.url()).searchParams.getAll("series")).to.deep.equal(["stream.mobile.size"]);
    });
  });

  describe("its address", () => {
    it("holds what is shown: a link shows the same, and back and forward work", async () => {
      const { page } = await open("?view=explore&series=stream.web.size&range=1d");
      await state(page, "ready");
      await page.getByLabel("Range").selectOption("7d");
      await page.waitForURL(/range=7d/);
      await page.getByRole("link", { name: "Segments" }).click();
      await page.waitForSelector("main[data-view=segments][data-state=ready]");
      await page.goBack();
      await page.waitForSelector("main[data-view=explore][data-state=ready]");
      expect(await page.getByLabel("Range").inputValue()).to.equal("7d");
      await page.goBack();
      await page.waitForURL(/range=1d/);
      await page.goForward();
      await page.waitForURL(/range=7d/);
      await state(page, "ready");
      await page.getByRole("button", { name: "Copy as link" }).click();
      await page.getByText("Copied.").waitFor();
      const link = await page.evaluate<string>("navigator.clipboard.readText()");
      const other = await open(new URL(link).search);
      await state(other.page, "ready");
      expect(await other.page.locator("figure table").innerText()).to.equal(
        await page.locator("figure table").innerText(),
      );
    });

    it("Copy as CSV and Copy as curl give what is drawn", async () => {
      const { page } = await open("?view=explore&series=stream.web.size&range=1d&interval=1h");
      await state(page, "ready");
      const copy = async (name: string) => {
        await page.getByRole("button", { name }).click();
        await page.getByText("Copied.").waitFor();
        return page.evaluate<string>("navigator.clipboard.readText()");
      };
      const csv = (await copy("Copy as CSV")).split("\n");
      expect(csv).to.have.length(1 + (await page.locator("tbody tr").count()));
      expect(csv.at(-1)).to.match(/^"stream\.web\.size",2026-11-20T21:00:00\.000Z,\d+,false$/);
      const [, body = ""] = /-d '(.*)'$/.exec(await copy("Copy as curl")) ?? [];
      const answer = await on.service.fetch("/api/metric", { method: "POST", json: JSON.parse(body) });
      expect((await answer.json()) as object).to.have.property("status", 200);
    });
  });

  describe("Erasure", () => {
    it("previews in counts, takes the word ERASE, and saves the receipt; nothing of it stands in the address", async () => {
      const { key } = await newKey(["entity:delete", "entity:read"]);
      const one = await open("?view=erasure", { key });
      const { page } = one;
      await state(page, "ready");
      await page.getByLabel("Field", { exact: true }).fill("email");
      await page.getByLabel("Identity").fill("web-1@example.org");
      await page.keyboard.press("Enter");
      const preview = page.locator("table", { hasText: "What would be removed" });
      await preview.waitFor();
      expect(await preview.innerText()).to.include("1 of web");
      const erase = page.getByRole("button", { name: "Erase", exact: true });
      const word = page.getByLabel(/^Type ERASE/);
      await word.fill("erase");
      expect(await erase.isDisabled()).to.equal(true);
      await word.fill("ERASE");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      const said = page.getByText(/^Accepted as/);
      await said.waitFor();
      const id = await said.locator("code").innerText();
      const isDone = async () => {
        const answer = await on.service.fetch(`/api/deletion/${id}`);
        return ((await answer.json()) as { data: { completed_at: string | null } }).data.completed_at !== null;
      };
      await until("the erasure is completed", isDone);
      await page.getByLabel("Request id").fill(id);
      await page.getByRole("button", { name: "Look up" }).click();
      await page
        .getByText(/completed/)
        .first()
        .waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("status").getByRole("button", { name: "Receipt" }).click();
      const saved = await download;
      expect(saved.suggestedFilename()).to.equal(`receipt-${id}.jws`);
      expect(readFileSync(await saved.path(), "utf8")).to.match(/^[\w-]+\.[\w-]+\.[\w-]+$/);
      expect(page.url()).to.equal(`${on.service.url}/dashboard?view=erasure`);
      expect(one.errors).to.deep.equal([]);
      expect((await on.service.fetch("/api/entity/user/email/web-1%40example.org")).status).to.equal(404);
    });
  });
});
