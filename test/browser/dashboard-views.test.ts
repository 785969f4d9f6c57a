import { expect } from "chai";
import type { Page } from "playwright-core";
import { newAlert } from "../../src/metrics/alerts/alert.js";
import { type AlertRule, alertRules } from "../../src/metrics/alerts/rule.js";
import { ALERTS } from "../../src/metrics/ports.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { axeFindings, scriptsOf, sideways, state } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const MINUTE = 60_000;

/** Every view with a link to it, its title and the requests of its first load after GET /api/key. */
const views = [
  [
    "overview",
    "",
    "Overview",
    [
      "GET /metrics",
      "GET /api/alert",
      "GET /api/segment",
      "GET /api/experience",
      "GET /api/stream",
      "GET /api/series",
      "POST /api/metric",
      "GET /api/mark",
    ],
  ],
  ["segments", "", "Segments", ["GET /api/segment", "GET /api/series", "POST /api/metric"]],
  [
    "segment",
    "&id=newsletter",
    "The newsletter",
    ["GET /api/segment", "GET /api/experience", "POST /api/metric", "POST /api/metric", "GET /api/mark"],
  ],
  ["experiences", "", "Experiences", ["GET /api/experience", "POST /api/metric"]],
  [
    "experience",
    "&id=welcome",
    "Welcome",
    [
      "GET /api/experience",
      "GET /api/segment/newsletter",
      "GET /api/segment/buyers",
      "POST /api/metric",
      "GET /api/mark",
    ],
  ],
  [
    "group",
    "&id=onboarding",
    "onboarding",
    ["GET /api/experience", "POST /api/metric", "POST /api/metric", "POST /api/metric", "GET /api/mark"],
  ],
  ["streams", "", "Streams", ["GET /api/stream", "POST /api/metric"]],
  ["stream", "&id=web", "web", ["GET /api/stream", "POST /api/metric", "GET /api/mark"]],
  ["people", "", "People", []],
  [
    "explore",
    "&series=stream.web.size&series=segment.buyers.size",
    "Explore",
    ["GET /api/segment", "POST /api/metric", "GET /api/mark"],
  ],
  ["deletions", "", "Deletions", ["GET /api/deletion", "GET /api/deletion"]],
  ["alerts", "", "Alerts", ["GET /api/alert", "GET /api/alert"]],
  ["health", "", "Health", ["GET /metrics", "GET /api/alert", "GET /api/hook"]],
] as const;

/** Controls that a finger may miss: less than 44 px high, or wide. */
const tooSmall = `[...document.querySelectorAll("a:not(.skip), button, select, summary, label:has([type=checkbox])")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.textContent, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 44 || height < 44)
  .map(([text, { width, height }]) => text + " " + width + " x " + height)`;

/** Sums how far the parts of a page move without an input. */
const sumShifts = `
  globalThis.shifted = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shifted += value;
  }).observe({ type: "layout-shift", buffered: true });`;

/** Names each visible control and returns the names. From then on the page records the focus and its outline. */
const numberControls = `
  globalThis.reached = [];
  addEventListener("focusin", ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    reached.push([target.dataset.name, outlineStyle + " " + outlineWidth]);
  });
  [...document.querySelectorAll("a[href], button:enabled, input:enabled:not([tabindex='-1']), select:enabled, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility())
    .map((one, index) => (one.dataset.name = index + " " + one.tagName + " " + (one.ariaLabel ?? one.textContent)))`;

describe("in the dashboard,", function () {
  this.timeout(60_000);
  const on = stage(async () => {
    const crm = {
      name: "crm",
      url: "http://127.0.0.1:9/",
      token: "secret",
      segments: ["nobody"],
      fields: [],
      from: "now",
    };
    const service = await startService({ hooks: [crm] }, { clock: () => NOW });
    await fillService(service);
    return service;
  });

  for (const [view, rest, title, requests] of views) {
    it(`${view} requests only its data, with scripts of at most 160 kB, 60 kB compressed; nothing moves while it loads; Tab reaches every control; it fits into any width, and axe has no serious finding`, async () => {
      let scripts: ReturnType<typeof scriptsOf> | undefined;
      const prepare = async (tab: Page) => {
        scripts = scriptsOf(tab);
        await tab.addInitScript(sumShifts);
      };
      const { page, requests: made, errors } = await on.ready(`?view=${view}${rest}`, { prepare });
      const [first, ...others] = made;
      expect(first).to.equal("GET /api/key");
      expect(others).to.have.members([...requests]);
      const { bytes, compressed } = (await scripts?.()) ?? {};
      expect(bytes).to.be.within(1, 160_000);
      expect(compressed).to.be.within(1, 60_000);
      expect(await page.evaluate("shifted")).to.equal(0);

      expect(await page.title()).to.equal(`${title} · entity-metrics`);
      expect(await page.getAttribute("main", "data-view")).to.equal(view);
      expect(await page.locator("nav a[aria-current=page]").count()).to.equal(1);
      const all = await page.evaluate<string[]>(numberControls);
      for (const _ of all) await page.keyboard.press("Tab");
      const reached = await page.evaluate<[name: string, outline: string][]>("globalThis.reached");
      expect(reached.map(([name]) => name)).to.deep.equal(all);
      for (const [name, outline] of reached) expect(outline, name).to.match(/^solid [1-9]/);
      for (const [width, ...schemes] of [
        [1280, "dark", "light"],
        [390, "light", "dark"],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        for (const colorScheme of schemes) {
          await page.emulateMedia({ colorScheme });
          expect(await sideways(page), `${width} px, ${colorScheme}`).to.equal(0);
        }
        const fits = "[...document.querySelectorAll('.drawing')].every((one) => one.scrollWidth <= one.clientWidth)";
        await until("the charts have the width of the page", () => page.evaluate<boolean>(fits));
        expect(await axeFindings(page), `${width} px`).to.deep.equal([]);
      }
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 568 });
        expect(await page.evaluate("document.querySelector('header').offsetHeight")).to.be.at.most(100);
        expect(await sideways(page), `${width} px`).to.equal(0);
        expect(await page.evaluate(tooSmall), `${width} px`).to.deep.equal([]);
      }
      // At 200 % a window of 1280 × 900 px contains half the pixels.
      await page.setViewportSize({ width: 640, height: 450 });
      expect(await sideways(page), "zoomed").to.equal(0);
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      expect(await sideways(page), "large letters").to.equal(0);
      expect(errors).to.deep.equal([]);
    });
  }

  it("a foreign script is a violation of the policy that these tests detect", async () => {
    const { page, errors } = await on.ready();
    await page.evaluate("document.body.append(Object.assign(document.createElement('script'), { textContent: '0' }))");
    expect(errors.join()).to.include("Content Security Policy");
  });

  it("one timer reloads a view 2 to 5 s after the next save, without another request for the key", async () => {
    const { page, requests } = await on.ready("?view=segments");
    requests.length = 0;
    await page.clock.fastForward(8 * MINUTE - 10_000 + 1_000 - 2_000);
    expect(requests).to.deep.equal([]);
    await page.clock.fastForward(7_000);
    await until("the view is loaded again", () => requests.includes("POST /api/metric"));
    expect(requests).to.deep.equal(["GET /api/segment", "GET /api/series", "POST /api/metric"]);
  });

  it("the overview and Alerts show a line for each rule that is firing, which opens; one that begins to fire moves nothing; Alerts also what ended", async () => {
    const hour = NOW - (NOW % HOUR);
    const [silent, fell] = alertRules(
      [
        { name: "no mail", series: "stream.email.size", condition: "silent_for", over: "2h" },
        { name: "fewer members", dimension: "segment", pattern: "*", condition: "falls_by", value: 10, over: "1d" },
      ],
      undefined,
    ) as [AlertRule, AlertRule];
    const fallOf = (id: string, measured: number) => newAlert(fell, { id, since: hour - HOUR, measured }, []);
    const ended = newAlert(silent, { id: "web", since: hour - 30 * HOUR, measured: null }, []);
    const alerts = [
      { ...ended, resolvedAt: hour - 25 * HOUR },
      newAlert(silent, { id: "email", since: hour, measured: null }, []),
      fallOf("buyers", 12.5),
      fallOf("newsletter", 62),
    ];
    const cardOf = (page: Page) => page.locator(".card", { has: page.getByRole("heading", { name: "Alerts: 3" }) });
    let scripts: ReturnType<typeof scriptsOf> | undefined;
    const prepare = async (tab: Page) => {
      scripts = scriptsOf(tab);
    };
    const { page, requests, errors } = await on.ready("", { prepare });
    expect(await cardOf(page).count()).to.equal(0);
    const { facts } = on.service.service.stores;
    await facts.replaceText(ALERTS, undefined, JSON.stringify({ evaluated: {}, alerts }));
    requests.length = 0;
    await page.clock.fastForward(10 * MINUTE);
    await until("the overview is loaded again", () => requests.includes("POST /api/metric"));
    await state(page, "ready");
    await page.clock.runFor(2 * MINUTE);
    const top = () => page.evaluate("document.querySelector('.figures').getBoundingClientRect().top");
    const before = await top();
    await page.getByText("Alerts have changed.").waitFor();
    expect([await cardOf(page).count(), await top()]).to.deep.equal([0, before]);
    await page.getByRole("button", { name: "Show" }).click();
    await cardOf(page).waitFor();
    expect((await scripts?.())?.compressed).to.be.within(1, 60_000);
    const lines = await cardOf(page).locator("summary").allInnerTexts();
    expect(lines).to.have.length(2);
    expect(lines[0]).to.match(/email silent for 2 h or longer\s+no mail · since 21:00/);
    expect(lines[1]).to.match(/2 segments fell by 10 % or more\s+fewer members · over 1 d · since 20:00/);
    await cardOf(page).locator("summary").last().click();
    await page.getByRole("table", { name: "fewer members" }).waitFor();
    expect(
      await page.getByRole("table", { name: "fewer members" }).locator("tbody tr").allTextContents(),
    ).to.deep.equal(["The newsletter−62 %20:00", "The buyers−12.5 %20:00"]);
    await page.getByRole("link", { name: "All alerts" }).click();
    await page.waitForSelector("main[data-view=alerts][data-state=ready]");
    const past = page.getByRole("table", { name: "Alerts that have ended" }).locator("tbody tr");
    expect(await past.allTextContents()).to.deep.equal(["webno mail silent for 2 h or longer–19 Nov5 h"]);
    await page.locator("summary", { hasText: "2 segments" }).click();
    await page.getByRole("link", { name: "The newsletter" }).click();
    await page.waitForSelector("main[data-view=segment][data-state=ready]");
    const health = (await on.ready("?view=health")).page;
    expect(await health.getByRole("link", { name: "3", exact: true }).getAttribute("href")).to.include("view=alerts");
    const hook = health.getByRole("table", { name: "Hooks" }).locator("tbody tr > *");
    await hook.last().waitFor();
    expect(await hook.allInnerTexts()).to.deep.equal(["crm", "up", "0", "–", "–", "–"]);
    expect(errors).to.deep.equal([]);
    await facts.replaceText(ALERTS, await facts.text(ALERTS), JSON.stringify({ evaluated: {}, alerts: [] }));
  });
});
