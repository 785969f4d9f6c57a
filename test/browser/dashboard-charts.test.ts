import { expect } from "chai";
import type { Page } from "playwright-core";
import { pointOf, writePoints } from "../support/requests.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { downloaded, openDates, state, unseen } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const OPEN_HOUR = Math.floor(NOW / HOUR) * HOUR;
const iso = (ms: number) => new Date(ms).toISOString();

describe("in a chart of the dashboard,", function () {
  this.timeout(60_000);
  const on = stage(async () => {
    const service = await startService({}, { clock: () => NOW });
    await fillService(service);
    const point = (id: string, hoursAgo: number) => pointOf("stream", id, 7, OPEN_HOUR - hoursAgo * HOUR);
    await writePoints(service, [point("single", 5), point("gap", 9), point("gap", 3)]);
    return service;
  });

  const explore = (search: string) => on.ready(`?view=explore&${search}`, { prepare: unseen });
  const rows = (page: Page) => page.locator("figure tbody tr");
  const cellOf = (page: Page, ms: number) =>
    page.locator("figure tbody tr", { has: page.locator(`time[datetime="${iso(ms)}"]`) }).locator("td");
  /** Moves the pointer over the middle of a bucket of the chart. */
  async function pointAt(page: Page, index: number, of: number): Promise<void> {
    const box = await page.locator(".u-over").boundingBox();
    if (box === null) throw new Error("there is no chart");
    await page.mouse.move(box.x + (box.width * (index + 0.5)) / of, box.y + box.height / 2);
  }

  it("the table has a row for every bucket, newest first, an empty cell for a gap, and names an unfinished one without a value", async () => {
    const { page } = await explore("series=stream.gap.size&range=24h");
    const times = await rows(page)
      .locator("time")
      .evaluateAll((all) => all.map((one) => one.getAttribute("datetime")));
    expect(times).to.deep.equal(Array.from({ length: 25 }, (_, at) => iso(OPEN_HOUR - at * HOUR)));
    expect(await cellOf(page, OPEN_HOUR - 9 * HOUR).textContent()).to.equal("7");
    for (const ago of [8, 4]) expect(await cellOf(page, OPEN_HOUR - ago * HOUR).textContent()).to.equal("");
    await page.getByText("1 gap").click();
    expect(await page.locator("section.card").first().innerText()).to.include("no value from 20 Nov 2026, 13:00 UTC");
    expect(await cellOf(page, OPEN_HOUR).textContent()).to.include("not complete");
    expect(await cellOf(page, OPEN_HOUR).locator("data").count()).to.equal(0);
    expect(await page.getByTitle("later buckets have no value yet").innerText()).to.include("complete until");
  });

  it("a single point is drawn as a dot", async () => {
    const { page } = await explore("series=stream.single.size&range=24h");
    const marked = await page.evaluate<number>(`(() => {
      const canvas = document.querySelector("figure canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const grey = (at) => Math.abs(data[at] - data[at + 1]) < 24 && Math.abs(data[at + 1] - data[at + 2]) < 24;
      let coloured = 0;
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200 && !grey(at)) coloured += 1;
      return coloured;
    })()`);
    expect(marked).to.be.within(5, 200);
  });

  it("Compare adds the window before, bucket for bucket, with figures of complete buckets of both", async () => {
    const { page } = await explore("series=stream.web.size&range=7d&interval=1d&aggregation=sum");
    await openDates(page);
    await page.getByLabel("Compare").check();
    await page.waitForSelector("th[data-compare]", { state: "attached" });
    expect(page.url()).to.include("compare=true");
    const heads = await page.locator("th[data-series]").evaluateAll((all) => all.map((one) => one.textContent));
    expect(heads).to.deep.equal(["web", "web, before"]);
    const values = await rows(page)
      .nth(3)
      .locator("data")
      .evaluateAll((all) => all.map((one) => one.getAttribute("value")));
    const day = Array.from({ length: 24 }, (_, hour) => 10 + hour).reduce((sum, value) => sum + value, 0);
    expect(values).to.deep.equal([String(day), String(day)]);
  });

  it("the tooltip names the bucket and each value with its change, at the pointer and at the keyboard's point", async () => {
    const { page } = await explore("series=stream.web.size&series=stream.mobile.size&range=24h&interval=1h");
    const tooltip = page.getByRole("tooltip");
    await page.getByRole("img").focus();
    await page.keyboard.press("ArrowLeft");
    expect(await tooltip.innerText())
      .to.include("Fri 20 Nov, 21:00–22:00 UTC")
      .and.include("not complete");
    await page.keyboard.press("ArrowLeft");
    expect(await tooltip.innerText())
      .to.include("20:00–21:00 UTC")
      .and.include("+1");
    expect(await tooltip.locator("data").count()).to.equal(2);
    await page.keyboard.press("Escape");
    expect(await tooltip.count()).to.equal(0);
    await pointAt(page, 5, 25);
    expect(await tooltip.innerText()).to.include("Fri 20 Nov, 02:00–03:00 UTC");
  });

  it("dragging selects the window of the page, and a double click returns to the range", async () => {
    const { page } = await explore("series=stream.web.size&range=24h&interval=1h");
    await pointAt(page, 4.6, 25);
    await page.mouse.down();
    await pointAt(page, 8, 25);
    await pointAt(page, 9.6, 25);
    await page.mouse.up();
    await page.waitForURL(/from=/);
    await state(page, "ready");
    const query = new URL(page.url()).searchParams;
    expect(query.get("from")).to.equal(iso(OPEN_HOUR - 19 * HOUR));
    expect(query.get("to")).to.equal(iso(OPEN_HOUR - 14 * HOUR));
    expect(await rows(page).count()).to.equal(5);
    await page.locator(".u-over").dblclick();
    await page.waitForURL((url) => !url.search.includes("from="));
  });

  it("a click in the legend hides a series but not its table column, and with Shift shows only that series", async () => {
    const { page } = await explore("series=stream.web.size&series=stream.mobile.size");
    const [web, mobile] = [
      page.getByRole("button", { name: /^web/, pressed: true }),
      page.locator(".legend button").nth(1),
    ];
    await web.click();
    expect(await page.locator(".legend button").first().getAttribute("aria-pressed")).to.equal("false");
    const heads = await page
      .locator("figure table th[data-series]")
      .evaluateAll((all) => all.map((one) => one.getAttribute("data-series")));
    expect(heads).to.deep.equal(["stream.web.size", "stream.mobile.size"]);
    await page
      .locator(".legend button")
      .first()
      .click({ modifiers: ["Shift"] });
    expect(await mobile.getAttribute("aria-pressed")).to.equal("false");
    expect(await page.locator(".legend button").first().getAttribute("aria-pressed")).to.equal("true");
  });

  it("a tap on a phone shows the tooltip", async () => {
    const { page } = await on.open("?view=explore&series=stream.web.size&range=24h&interval=1h", {
      prepare: async (opened) => {
        await unseen(opened);
        await opened.setViewportSize({ width: 390, height: 900 });
      },
      hasTouch: true,
    });
    await state(page, "ready");
    const box = await page.locator(".u-over").boundingBox();
    if (box === null) throw new Error("there is no chart");
    for (const [share, label] of [
      [5.5 / 25, "02:00–03:00 UTC"],
      [20.5 / 25, "17:00–18:00 UTC"],
    ] as const) {
      await page.touchscreen.tap(box.x + box.width * share, box.y + box.height / 2);
      await page.getByRole("tooltip").getByText(label).waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).to.equal(390);
    }
    expect(new URL(page.url()).searchParams.has("from")).to.equal(false);
  });

  it("an interval of the link that does not fit is named next to the interval shown", async () => {
    const { page } = await explore("series=segment.buyers.size&range=7d&interval=1h");
    expect(await page.innerText("figure"))
      .to.include("Buckets of 1h do not fit")
      .and.include("buckets of 2h are shown");
  });

  it("marks of the window are drawn, listed and in the tooltip; m or Shift with a click adds one to all charts or to the charts of a stream, and × asks before a mark is deleted", async () => {
    const put = async (id: string, ago: number, rest = {}) => {
      const json = { ts: String(OPEN_HOUR - ago * HOUR), text: `Mark ${id}`, ...rest };
      expect((await on.service.fetch(`/api/mark/${id}`, { method: "PUT", json })).status).to.equal(200);
    };
    /** Number of pixels in the colour of the lines of marks. */
    const drawn = (page: Page) =>
      page.evaluate<number>(`(() => {
        const [place, canvas] = [document.body, document.querySelector("figure canvas")];
        place.style.color = "var(--mark-line)";
        const colour = getComputedStyle(place).color.match(/\\d+/g).map(Number);
        place.style.color = "";
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let at = 0; at < data.length; at += 4)
          if (data[at + 3] > 200 && colour.every((part, index) => Math.abs(data[at + index] - part) < 4)) count += 1;
        return count;
      })()`);
    const { page } = await on.ready("?view=explore&series=stream.web.size&range=24h");
    const marks = page.getByRole("list", { name: "Marks" }).getByRole("listitem");
    expect([await drawn(page), await marks.count()]).to.deep.equal([0, 0]);
    await put("release", 6);
    await put("mobile", 6, { dimension: "stream", dimension_id: "mobile" });
    await put("web", 4, { dimension: "stream", dimension_id: "web" });
    await put("old", 60);
    await until("a check of the service reads the new marks", async () => {
      await page.clock.runFor(15_000);
      return (await marks.count()) > 0;
    });
    expect(await marks.allInnerTexts()).to.deep.equal(["20 Nov · Mark release", "20 Nov · Mark web"]);
    expect(await drawn(page)).to.be.above(100);
    await pointAt(page, 18, 25);
    expect(await page.getByRole("tooltip").innerText()).to.include("Mark: Mark release");

    const add = async (text: string, on: string, label: string) => {
      const dialog = page.getByRole("dialog", { name: "Add a mark" });
      await dialog.getByLabel("On").selectOption(on);
      await dialog.getByLabel("Text").fill(text);
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
      await marks.filter({ hasText: label }).waitFor();
    };
    await page.getByRole("img").focus();
    await page.keyboard.press("m");
    await add("by the key", "charts of the stream web", "2 marks");
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).to.equal("img");
    await page.keyboard.down("Shift");
    await page.locator(".u-over").click({ position: { x: 5, y: 50 } });
    await page.keyboard.up("Shift");
    await add("by a click", "all charts", "by a click");
    const answer = await (await on.service.fetch("/api/mark")).json();
    const stored = (answer as { data: { text: string; ts: string; dimension_id?: string }[] }).data;
    const tsOf = (text: string) => Number(stored.find((one) => one.text === text)?.ts);
    expect(tsOf("by the key")).to.equal(OPEN_HOUR - 6 * HOUR);
    expect(tsOf("by a click")).to.equal(OPEN_HOUR - 24 * HOUR);
    expect(stored.map(({ text, dimension_id }) => [text, dimension_id])).to.deep.include.members([
      ["by the key", "web"],
      ["by a click", undefined],
    ]);
    await page.getByRole("button", { name: "2 marks" }).click();
    const dialog = page.getByRole("dialog", { name: "Marks" });
    await dialog.getByRole("button", { name: "Delete the mark by the key" }).click();
    await dialog.getByRole("button", { name: "Keep" }).click();
    await dialog.getByRole("button", { name: "Delete the mark by the key" }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "2 marks" }).waitFor({ state: "detached" });
    expect(await marks.allInnerTexts()).to.include("20 Nov · Mark release");

    const { key } = await on.newKey(["metric:read"]);
    const reader = await on.ready("?view=stream&id=web&range=24h", { key });
    expect(await reader.page.getByRole("button", { name: "+ Mark" }).count()).to.equal(0);
    await reader.page.getByRole("button", { name: "Mark web" }).click();
    await reader.page.getByRole("dialog", { name: "Mark" }).getByText("charts of web").waitFor();
    expect(await reader.page.getByRole("button", { name: /Delete/ }).count()).to.equal(0);
  });

  it("chips, legend and heads show catalogue names, ids of streams and groups, or else the series name", async () => {
    const names = ["segment.buyers.size", "experience.welcome.actualreach", "stream.web.size", "segment.absent.size"];
    const { page } = await explore(names.map((name) => `series=${name}`).join("&"));
    const labels = ["The buyers", "Welcome, actual reach", "web", "segment.absent.size"];
    expect(await page.locator(".chips li").allTextContents()).to.deep.equal(labels.map((label) => `${label} ×`));
    for (const [index, label] of labels.entries()) {
      expect(await page.locator(`th[data-series="${names[index]}"]`).textContent()).to.equal(label);
      expect(await page.locator(".legend li", { hasText: label }).count()).to.equal(1);
    }
  });

  it("a refused series has its error in the legend, and the others are drawn", async () => {
    const { page } = await explore("series=stream.web.size&series=stream.web.nothing");
    expect(await page.locator(".legend").innerText()).to.match(/web\s[\s\S]*web, nothing: ./);
    expect(await page.locator("th[data-series]").count()).to.equal(1);
    const all = await explore("series=stream.web.nothing&series=stream.mobile.nothing");
    expect(await all.page.locator(".legend li.bad").count()).to.equal(2);
  });

  it("copies and downloads contain the series that are drawn", async () => {
    const { page } = await explore("series=stream.web.size&range=24h&interval=1h");
    await page.getByRole("button", { name: "Share" }).click();
    const copy = async (name: string) => {
      await page.getByRole("button", { name }).click();
      await page.getByText("Copied.").waitFor();
      return page.evaluate<string>("navigator.clipboard.readText()");
    };
    const csv = (await copy("Copy as CSV")).trim().split(/\r?\n/);
    expect(csv).to.have.length(1 + (await rows(page).count()));
    expect(csv.at(-1)).to.match(/^stream\.web\.size,2026-11-20T21:00:00\.000Z,\d+,false$/);
    const [, body = ""] = /-d '(.*)'$/.exec(await copy("Copy as curl")) ?? [];
    expect(JSON.parse(body)[0]).to.include({ range: "24h" });
    expect((await on.service.fetch("/api/metric", { method: "POST", json: JSON.parse(body) })).status).to.equal(200);
    const save = (name: string) => downloaded(page.getByRole("button", { name }));
    expect((await save("Download CSV")).text.trim().split(/\r?\n/)).to.deep.equal(csv);
    const { bytes, name } = await save("Download PNG");
    expect(bytes.subarray(1, 4).toString()).to.equal("PNG");
    expect(name).to.equal("messages-web_2026-11-19_2026-11-20.png");
  });

  it("a page that may not copy, as over plain HTTP from another host, selects the text instead", async () => {
    const { page } = await on.ready("?view=explore&series=stream.web.size", { prepare: unseen, isInsecure: true });
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Copy as link" }).click();
    await page.getByText("Press Ctrl+C or ⌘C to copy.").waitFor();
    const selected = await page.evaluate<string>("getSelection().toString()");
    expect(new URL(selected).search).to.include("series=stream.web.size");
  });
});
