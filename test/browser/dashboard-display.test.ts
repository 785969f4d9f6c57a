import { expect } from "chai";
import type { Page } from "playwright-core";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { sideways, state, unseen } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const views = ["overview", "segments", "experiences", "streams", "explore", "erasure", "health"];
const search = (view: string) => `?view=${view}${view === "explore" ? "&series=stream.web.size" : ""}`;

describe("how the dashboard is shown", function () {
  this.timeout(60_000);
  const on = stage(async () => {
    const service = await startService({}, { clock: () => NOW });
    await fillService(service);
    return service;
  });

  /** Opens one view after another in one tab. */
  async function* eachView(page: Page): AsyncGenerator<string> {
    for (const view of views) {
      await page.goto(`${on.service.url}/dashboard${search(view)}`);
      await page.waitForSelector(`main[data-view=${view}][data-state=ready]:not([aria-busy])`);
      yield view;
    }
  }

  it("Local time changes every time of day and says so; what programs read stays in UTC", async () => {
    const { page, errors } = await on.open("?view=explore&series=stream.web.size&range=1d&interval=1h", {
      timezone: "America/New_York",
    });
    await state(page, "ready");
    const newest = () => page.locator("tbody time").last();
    const shown = async () => [
      await page.getByRole("status").first().innerText(),
      await page.locator("figure th").first().textContent(),
      await newest().textContent(),
      await newest().getAttribute("datetime"),
    ];
    const utc = await shown();
    expect(utc[0]).to.include("as of 21:52 UTC · next 22:00");
    expect(utc.slice(1)).to.deep.equal(["Time (UTC)", "20 Nov 2026, 21:00 UTC", "2026-11-20T21:00:00.000Z"]);
    await page.getByLabel("Local time").focus();
    await page.keyboard.press("Space");
    await page.locator("th", { hasText: "Time (local)" }).waitFor({ state: "attached" });
    const local = await shown();
    expect(local[0]).to.include("as of 16:52 local · next 17:00");
    expect(local.slice(1)).to.deep.equal(["Time (local)", "20 Nov 2026, 16:00 local", "2026-11-20T21:00:00.000Z"]);
    expect(await page.innerText("main"))
      .to.include("16:00 local")
      .and.not.include("UTC");
    await page.keyboard.press("Space");
    await page.locator("th", { hasText: "Time (UTC)" }).waitFor({ state: "attached" });
    expect(await shown()).to.deep.equal(utc);
    expect(errors).to.deep.equal([]);
  });

  it("a hidden tab asks for nothing, and catches up once when it is seen again", async () => {
    const { page, requests } = await on.open("?view=segments");
    await state(page, "ready");
    const turn = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await turn(true);
    requests.length = 0;
    await page.clock.fastForward(HOUR);
    expect(requests).to.deep.equal([]);
    await turn(false);
    await page.clock.fastForward(1);
    await until("the page asks again", () => requests.length >= 3);
    expect(requests.slice(0, 3)).to.deep.equal(["GET /api/key", "GET /api/segment/sizes", "POST /api/metric"]);
  });

  it("each view fits at 200 % zoom, and with letters of twice the size", async () => {
    const { page } = await on.open();
    for await (const view of eachView(page)) {
      // A window of 1280 × 900 px holds half as many at 200 %.
      await page.setViewportSize({ width: 640, height: 450 });
      expect(await sideways(page), `${view}, zoomed`).to.equal(0);
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      expect(await page.evaluate("getComputedStyle(document.querySelector('main')).fontSize")).to.equal("32px");
      expect(await sideways(page), `${view}, large letters`).to.equal(0);
    }
  });

  it("nothing moves for people who asked for that", async () => {
    let letGo: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const { page } = await on.open("?view=segments", {
      prepare: async (page) => {
        await page.route(/\/api\/metric/, async (route) => {
          await held;
          await route.continue();
        });
      },
    });
    await page.waitForSelector("main[data-state=loading] .skeleton");
    const moving = () => page.evaluate<number>("document.getAnimations().length");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await until("the skeleton pulses", async () => (await moving()) === 3);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await until("nothing moves", async () => (await moving()) === 0);
    letGo();
    await state(page, "ready");
    expect(await moving()).to.equal(0);
  });

  it("Tab reaches every control of every view in the order of the page, and shows which has the focus", async () => {
    const { page } = await on.open("", { prepare: unseen });
    for await (const view of eachView(page)) {
      const all = await page.evaluate<string[]>(numberControls);
      expect(all, view).to.have.length.above(12);
      for (const _ of all) await page.keyboard.press("Tab");
      const reached = await page.evaluate<[name: string, outline: string][]>("globalThis.reached");
      expect(
        reached.map(([name]) => name),
        view,
      ).to.deep.equal(all);
      for (const [name, outline] of reached) expect(outline, `${view}: ${name}`).to.match(/^solid [1-9]/);
    }
  });
});

/** Gives each control that is shown a name, and says all of them. From then on the page notes which has the focus, and its outline. */
const numberControls = `
  globalThis.reached = [];
  addEventListener("focusin", ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    reached.push([target.dataset.name, outlineStyle + " " + outlineWidth]);
  });
  [...document.querySelectorAll("a[href], button:enabled, input:enabled, select:enabled, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility())
    .map((one, index) => (one.dataset.name = index + " " + one.tagName + " " + (one.ariaLabel ?? one.textContent)))`;
