import { expect } from "chai";
import { readAddress } from "../../src/dashboard/address.js";
import { sampledWindow } from "../../src/dashboard/figures.js";
import { serveDimensions } from "../dashboard/served-dimensions.js";
import { pointOf, writePoints } from "../support/requests.js";
import { startService } from "../support/service.js";
import { sideways } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const OPEN_SLOT = Math.floor(NOW / (2 * HOUR)) * 2 * HOUR;

describe("in the dashboard,", function () {
  this.timeout(60_000);
  const on = stage(async () => {
    const service = await startService({}, { clock: () => NOW });
    await fillService(service);
    const scripts = ["Käufer", "顧客", "عملاء", "покупатели", "लोग"].map((script) => `${script} `.padEnd(96, "n"));
    const hostile = [...scripts, "W".repeat(96), "👩‍👩‍👧‍👦".repeat(8), "<b>bold</b>&amp;".padEnd(96, "<i>")];
    for (const [index, name] of hostile.entries())
      await service.fetch(`/api/segment/long-${index}`, { method: "PUT", json: { name } });
    for (const [index, value] of [1e15, 1_234_567, -3, 0, 0.001].entries()) {
      const [id, at] = [`long-${index}`, OPEN_SLOT - 24 * HOUR];
      await writePoints(service, [pointOf("segment", id, value, OPEN_SLOT), pointOf("segment", id, 7, at)]);
      await writePoints(service, [pointOf("stream", `${id}-`.padEnd(96, "n"), Math.abs(value), at)]);
    }
    serveDimensions();
    return service;
  });

  it("a segment's page shows how many people joined and left between the two sizes of its change", async () => {
    const search = "?view=segment&id=buyers&range=24h";
    const { startdate } = sampledWindow("segment", { address: readAddress(search), now: NOW, zone: "UTC" });
    const counted = Array.from({ length: 24 }, (_, ago) => OPEN_SLOT - (ago + 1) * 2 * HOUR);
    const series = ["joined", "left"].map((dimension_type) => ({
      dimension: "segment",
      dimension_id: "buyers",
      dimension_type,
    }));
    await writePoints(on.service, { series, ts: counted, values: [counted.map(() => 4), counted.map(() => 1)] });
    const { page } = await on.ready(search);
    const all = counted.filter((ts) => ts >= Date.parse(startdate)).length;
    expect((await page.locator("dl.facts").innerText()).replace(/\s+/g, " ")).to.include(
      `Joined ${4 * all} Left ${all} Used by`,
    );
    expect(await page.locator("h2").allInnerTexts()).to.include("Joined and left");
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
    await writePoints(on.service, [pointOf("segment", "old", 4, OPEN_SLOT - 500 * HOUR)]);
    const { page } = await on.ready("?view=segment&id=old&from=2026-10-30&to=2026-10-31");
    expect(await page.getByRole("status").first().innerText()).to.equal("");
    expect(await page.locator(".largest").innerText()).to.match(/–\s*members\s/);
  });

  it("Explore finds a series by a part of its id or of its name, in any case", async () => {
    const { page } = await on.ready("?view=explore");
    for (const [text, name] of [
      ["OBI", "stream.mobile.size"],
      ["elcom", "experience.welcome.conversionrate"],
    ] as const) {
      await page.getByRole("combobox", { name: "Add a series" }).fill(text);
      await page.clock.fastForward(1_000);
      await page.getByRole("listbox", { name: "Series" }).getByRole("option").first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForSelector(`th[data-series="${name}"]`, { state: "attached" });
    }
  });

  for (const search of ["?view=overview", "?view=segments", "?view=streams", "?view=segment&id=long-1&compare=true"]) {
    it(`${search} fits into 390 px with hostile names and sizes, has rows of one height, and breaks no word that fits into a line`, async () => {
      const { page, errors } = await on.ready(search);
      for (const [width, most] of [
        [1280, 33],
        [390, 90],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate(brokenWords), `${width} px`).to.deep.equal([]);
        expect(await page.evaluate(rowHeights), `${width} px`).to.satisfy((all: number[]) =>
          all.every((h) => h <= most),
        );
      }
      expect(await sideways(page)).to.equal(0);
      expect(errors).to.deep.equal([]);
    });
  }
});

/** Heights of the rows of lists, px. */
const rowHeights = `[...document.querySelectorAll(".list tbody tr")].map((row) => row.offsetHeight)`;

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
