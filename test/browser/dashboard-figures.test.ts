import { expect } from "chai";
import { readAddress } from "../../src/dashboard/address.js";
import { changeOf, type Moved, sampledWindow } from "../../src/dashboard/figures.js";
import { windowOfList } from "../../src/dashboard/list/entries.js";
import { serveDimensions } from "../dashboard/served-dimensions.js";
import { pointOf, writePoints } from "../support/requests.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { sideways, state } from "./browser.js";
import { HOUR, NOW } from "./dashboard-data.js";
import {
  experienceId,
  fillRealSize,
  hours,
  messagesAt,
  SEGMENTS,
  STREAMS,
  segmentId,
  segmentName,
  sizeAt,
  slots,
  streamName,
} from "./real-size.js";
import { stage } from "./stage.js";

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const each = (count: number) => Array.from({ length: count }, (_, index) => index);

const viewedAt = (search: string) => ({ address: readAddress(search), now: NOW, zone: "UTC" }) as const;

describe("in the dashboard at real size,", function () {
  this.timeout(240_000);
  const on = stage(async () => {
    const service = await startService({}, { clock: () => NOW });
    await fillRealSize(service);
    serveDimensions();
    return service;
  });

  const figure = (name: string) => `[data-figure=${name}] data`;

  it("the overview counts all segments and streams, its chart adds up to all, what changed most is in the order of the API, and a refresh takes at most five requests", async () => {
    const { page, requests } = await on.ready("?view=overview");
    expect(await page.getAttribute(figure("segments"), "value")).to.equal(String(SEGMENTS));
    const lastDay = each(24).map((at) => hours.length - 24 + at);
    const messages = sumOf(each(STREAMS).flatMap((index) => lastDay.map((hour) => messagesAt(index, hour))));
    expect(await page.getAttribute(figure("messages"), "value")).to.equal(String(messages));
    expect(await page.getAttribute(figure("deletions"), "value")).to.equal("0");

    const row = page.locator("figure tbody tr").nth(5);
    const values = await row.locator("data").evaluateAll((all) => all.map((one) => Number(one.getAttribute("value"))));
    const hour = hours.indexOf(Date.parse((await row.locator("time").getAttribute("datetime")) ?? ""));
    expect(values).to.have.length(9);
    expect(sumOf(values)).to.equal(sumOf(each(STREAMS).map((index) => messagesAt(index, hour))));

    const { startdate, enddate } = sampledWindow("segment", viewedAt("?view=overview"));
    const query = `sort=movement&order=desc&limit=8&startdate=${startdate}&enddate=${enddate}`;
    const answer = (await (await on.service.fetch(`/api/segment?${query}`)).json()) as {
      data: (Moved & { name: string; size: number })[];
    };
    const card = page.getByRole("table", { name: "Segments that changed most" });
    expect(await card.locator("tbody th").allInnerTexts()).to.deep.equal(answer.data.map(({ name }) => name.trim()));
    const members = answer.data.map(({ size }) => String(size));
    expect(await card.locator("tbody tr td:nth-child(2)").allInnerTexts()).to.deep.equal(members);
    for (const text of await card.locator("tbody tr td:nth-child(3)").allInnerTexts())
      expect(text).to.match(/^[▲▼] [+−]\d/);

    requests.length = 0;
    await page.clock.fastForward(HOUR);
    await until("the overview is loaded again", () => requests.includes("POST /api/metric"));
    await state(page, "ready");
    // Marks are read apart from it, each minute.
    expect(requests.filter((one) => one !== "GET /api/mark").length).to.be.at.most(5);
  });

  it("a list shows its whole size, is sorted and searched as a whole, and has Next and Previous", async () => {
    const { page } = await on.ready("?view=segments");
    const size = page.locator(".pager [role=status]");
    const firstName = () => page.locator("tbody tr").first().locator("th").innerText();
    expect(await size.innerText()).to.equal("1–50 of 5,000");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–100 of 5,000").waitFor();
    await state(page, "ready");
    expect(await firstName()).to.include(segmentName(50).trim().slice(0, 20));
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText("1–50 of 5,000").waitFor();
    await page.getByRole("button", { name: /^Change/ }).click();
    await page.waitForURL(/sort=-change/);
    await state(page, "ready");
    expect(await page.locator("th[aria-sort=descending]").innerText()).to.include("Change");
    const smallest = each(SEGMENTS).reduce((best, index) => (sizeAt(index, 0) < sizeAt(best, 0) ? index : best), 0);
    expect(await firstName()).to.include(segmentName(smallest).trim().slice(0, 20));
    await page.getByRole("searchbox", { name: "Search" }).fill("KÄUFER 42");
    await page.clock.fastForward(1_000);
    await page.waitForURL(/q=/);
    await state(page, "ready");
    const matches = each(SEGMENTS).filter((index) => segmentName(index).toLowerCase().includes("käufer 42"));
    await page.getByText(`of ${matches.length}`, { exact: false }).first().waitFor();
  });

  it("a link to a segment beyond the first page shows that segment and its figures", async () => {
    const index = 4_321;
    const { page } = await on.ready(`?view=segment&id=${segmentId(index)}&range=7d`);
    expect(await page.locator("h1").innerText()).to.include(segmentName(index).trim().slice(0, 20));
    const newest = await page.locator("figure tbody td data").first().getAttribute("value");
    expect(newest).to.equal(String(sizeAt(index, slots.length - 1)));
  });

  it("a segment's page shows how many people joined and left between the two sizes of its change", async () => {
    const id = segmentId(4_000);
    const { startdate } = sampledWindow("segment", viewedAt(`?view=segment&id=${id}&range=24h`));
    const counted = slots.filter((ts) => ts + 2 * HOUR <= NOW);
    const series = ["joined", "left"].map((type) => ({ dimension: "segment", dimension_id: id, dimension_type: type }));
    await writePoints(on.service, { series, ts: counted, values: [counted.map(() => 4), counted.map(() => 1)] });
    const { page } = await on.ready(`?view=segment&id=${id}&range=24h`);
    const all = counted.filter((ts) => ts >= Date.parse(startdate)).length;
    const facts = await page.locator("dl.facts").innerText();
    expect(facts).to.include(`${4 * all} joined, ${all} left`);
    expect(await page.locator("h2").allInnerTexts()).to.include("Joined and left");
  });

  it("list, own page and API have the same figures", async () => {
    for (const [kind, id, unit, heads] of [
      ["segment", segmentId(77), "members", ["Members now", "Change"]],
      ["stream", streamName(77), "messages", ["Last 24 h", "Messages", "Change"]],
      ["experience", experienceId(77), "rate", ["Change"]],
    ] as const) {
      const { page } = await on.ready(`?view=${kind}s&q=${id}`);
      const texts = await page.locator("thead th").allInnerTexts();
      const cells = await page.locator("tbody tr").first().locator("th, td").allInnerTexts();
      const cell = (head: string) => cells[texts.findIndex((text) => text.startsWith(head))];
      const { startdate, enddate } = windowOfList(kind, viewedAt(`?view=${kind}&id=${id}`));
      const answer = await on.service.fetch(`/api/${kind}?id=${id}&startdate=${startdate}&enddate=${enddate}`);
      const [row] = ((await answer.json()) as { data: Moved[] }).data;
      expect(cell("Change"), kind).to.equal(changeOf(row as Moved, unit, "UTC"));
      await page.goto(`${on.service.url}/dashboard?view=${kind}&id=${id}`);
      await page.waitForSelector(`main[data-view=${kind}][data-state=ready]:not([aria-busy])`);
      for (const head of heads) {
        const fact = page.locator("dl.facts div", {
          has: page.locator("dt", { hasText: new RegExp(`^${head}(,|$)`, "i") }),
        });
        expect(await fact.first().locator("dd").innerText(), `${kind}, ${head}`).to.equal(cell(head));
      }
      if (kind !== "experience") continue;
      const funnel = await page.locator(".step b, dl.facts div:first-child dd").allInnerTexts();
      expect(funnel).to.deep.equal(["Potential reach", "Actual reach", "Conversion"].map(cell));
    }
  });

  it("a link to an unknown segment, experience, group or stream names the unknown id", async () => {
    for (const [view, problem] of [
      ["segment", "no segment with the id “unknown”"],
      ["experience", "no experience with the id “unknown”"],
      ["group", "no experience in a group with the id “unknown”"],
      ["stream", "no stream with the name “unknown”"],
    ] as const) {
      const { page } = await on.ready(`?view=${view}&id=unknown`);
      expect(await page.getByRole("status").first().innerText()).to.include(problem);
    }
  });

  it("a segment that has only old points is not reported as unknown", async () => {
    await writePoints(on.service, [pointOf("segment", "old", 4, hours[0] as number)]);
    const { page } = await on.ready("?view=segment&id=old&from=2026-10-01&to=2026-10-02");
    expect(await page.getByRole("status").first().innerText()).to.equal("");
    expect(await page.locator("dl.facts").innerText()).to.match(/newest saved size\s*–/i);
  });

  it("Explore finds a series by a part of its id or of its name, in any case", async () => {
    const { page } = await on.ready("?view=explore");
    for (const [text, name] of [
      ["REAM-49", "stream.stream-490.size"],
      ["xperience 29", "experience.exp-029.conversionrate"],
    ] as const) {
      await page.getByRole("combobox", { name: "Add a series" }).fill(text);
      await page.clock.fastForward(1_000);
      await page.getByRole("listbox", { name: "Series" }).getByRole("option").first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForSelector(`th[data-series="${name}"]`, { state: "attached" });
    }
  });

  for (const search of [
    "?view=overview",
    "?view=segments",
    "?view=streams",
    `?view=segment&id=${segmentId(2)}&compare=true`,
  ]) {
    it(`${search} fits into 390 px, and breaks no word that fits into a line`, async () => {
      const { page, errors } = await on.ready(search);
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate(brokenWords), `${width} px`).to.deep.equal([]);
      }
      expect(await sideways(page)).to.equal(0);
      expect(errors).to.deep.equal([]);
    });
  }
});

/** Words of at most 14 characters that are drawn in two lines. */
const brokenWords = `(() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
    for (const { 0: word, index } of text.data.matchAll(/\\S{1,14}(?=\\s|$)/g)) {
      if (/\\S/.test(text.data[index - 1] ?? " ") || /[\\u2e80-\\u9fff–-]/.test(word)) continue;
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word);
    }
  return broken;
})()`;
