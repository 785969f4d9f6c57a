import { expect } from "chai";
import { pointOf, writePoints } from "../support/requests.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { downloaded, holdRequests, openDates, state, unseen } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const inBar = ["overview", "segments", "experiences", "streams", "people", "explore", "deletions", "alerts", "health"];

describe("in the dashboard,", function () {
  this.timeout(60_000);
  const on = stage(async () => {
    const service = await startService({}, { clock: () => NOW });
    await fillService(service);
    return service;
  });

  it("the first stop of Tab skips to the content, ? lists the keys, / focuses the search, digits open the views", async () => {
    const { page } = await on.ready("", { prepare: unseen });
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).to.include("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).to.equal("main");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    for (const [index, view] of inBar.entries()) {
      await page.keyboard.press(String(index + 1));
      await page.waitForSelector(`main[data-view=${view}][data-state=ready]`);
    }
    await page.keyboard.press("2");
    await page.waitForSelector("main[data-view=segments][data-state=ready]");
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).to.equal("searchbox");
  });

  it("a link shows the same page, back and forward work, and a walk through ranges is one step back", async () => {
    const { page } = await on.open("?view=explore&series=stream.web.size&range=24h", { prepare: unseen });
    await state(page, "ready");
    await openDates(page);
    await page.getByLabel("Range").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.waitForURL(/range=7d/);
    await page.getByRole("link", { name: "Segments" }).click();
    await page.waitForSelector("main[data-view=segments][data-state=ready]");
    await page.goBack();
    await page.waitForSelector("main[data-view=explore][data-state=ready]");
    await page.getByRole("button", { name: "Dates: Last 7 days" }).waitFor();
    await page.goBack();
    await page.waitForURL(/range=24h/);
    await page.goForward();
    await page.waitForURL(/range=7d/);
    await state(page, "ready");
    await page.keyboard.press("s");
    await page.getByRole("button", { name: "Copy as link" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Copied.").waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    const other = await on.ready(new URL(link).search);
    expect(await other.page.locator("figure table").textContent()).to.equal(
      await page.locator("figure table").textContent(),
    );
  });

  it("Ctrl-K leads to a view, to a segment by a part of its name, and to a request by its id", async () => {
    const { page, errors } = await on.ready("?view=health", { prepare: unseen });
    const go = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Go to" }).getByRole("combobox").fill(text);
      await page.clock.runFor(300);
      await page.locator("#places [role=option]").first().waitFor();
      await page.keyboard.press("Enter");
    };
    await go("strea");
    await page.waitForSelector("main[data-view=streams][data-state=ready]");
    await go("newsl");
    await page.waitForSelector("main[data-view=segment][data-state=ready]");
    expect(new URL(page.url()).searchParams.get("id")).to.equal("newsletter");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("combobox", { name: "Go to" }).waitFor();
    await page.clock.runFor(300);
    await page.locator("#places [role=option]", { hasText: "segment newsletter" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await go("0123456789abcdef0123-1");
    await page.waitForSelector("main[data-view=deletions][data-state=ready]");
    await page.getByText("Request 0123456789abcdef0123-1").waitFor();
    expect(page.url()).to.not.include("0123456789");
    expect(await page.evaluate("document.activeElement.textContent")).to.include("Request 0123456789");
    await page.keyboard.press("Control+k");
    await page.clock.runFor(300);
    await page.locator("#places [role=option]").first().waitFor();
    await page.keyboard.press("2");
    expect(page.url()).to.include("view=deletions");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await openDates(page);
    await page.getByLabel("Local time").focus();
    await page.keyboard.press("9");
    await page.waitForSelector("main[data-view=health][data-state=ready]");
    expect(errors).to.deep.equal([]);
  });

  it("Back returns to the page of a list and to the position on it", async () => {
    const segments = Array.from({ length: 120 }, (_, index) => `s-${String(index).padStart(3, "0")}`);
    const service = await startService({}, { clock: () => NOW });
    try {
      await service.fetch("/collect/json/web", { method: "POST", json: { _uid: "a", segments } });
      const { page } = await on.ready("?view=segments", { prepare: unseen }, service);
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("51–100 of 120").waitFor();
      const link = page.getByRole("link", { name: "s-099" });
      await link.scrollIntoViewIfNeeded();
      const top = await page.evaluate("scrollY");
      expect(top).to.be.above(0);
      await link.click();
      await page.waitForSelector("main[data-view=segment][data-state=ready]");
      expect(await page.evaluate("scrollY")).to.equal(0);
      await page.goBack();
      await page.getByText("51–100 of 120").waitFor();
      await page.waitForFunction(`scrollY === ${top}`);
      expect(await page.evaluate("document.activeElement.textContent")).to.equal("s-099");
      const { text } = await downloaded(page.getByRole("button", { name: "Download CSV" }));
      const [head, first, ...others] = text.trim().split("\r\n");
      expect(head).to.match(/^id,name,table,size/);
      expect(first).to.match(/^s-000,s-000,user,1,/);
      expect(others).to.have.length(119);
    } finally {
      await service.stop();
    }
  });

  it("rows that are ticked are charted together, and silent streams come first by their newest data", async () => {
    await writePoints(on.service, [pointOf("stream", "stopped", 4, NOW - 30 * HOUR)]);
    const { page } = await on.ready("?view=streams");
    await page.getByRole("button", { name: "Newest data" }).click();
    await page.waitForURL(/sort=-silence/);
    await state(page, "ready");
    expect(await page.locator("tbody tr").first().innerText()).to.match(/stopped\s+silent for 30 h/);
    for (const name of ["web", "email"]) await page.getByRole("checkbox", { name: `Select ${name}` }).press(" ");
    await page.getByRole("button", { name: "Chart together (2)" }).press("Enter");
    await page.waitForSelector("main[data-view=explore][data-state=ready]");
    expect(new URL(page.url()).searchParams.getAll("series")).to.deep.equal(["stream.web.size", "stream.email.size"]);
    const { page: overview } = await on.ready();
    expect(await overview.locator("[data-figure=silent]").innerText()).to.match(/^Silent streams\s+1\s+of 4 streams/);
    await overview.locator("[data-figure=silent]").getByRole("link").click();
    await overview.waitForURL(/view=streams.*sort=-silence/);
  });

  it("presets and arrows set the window, and a link with fixed dates contains it", async () => {
    const { page } = await on.ready("?view=explore&series=stream.web.size&range=24h", { prepare: unseen });
    const query = (name: string) => new URL(page.url()).searchParams.get(name);
    await openDates(page);
    await page.getByLabel("Range").selectOption("yesterday");
    await page.waitForURL(/from=2026-11-19T00/);
    expect(query("to")).to.equal("2026-11-20T00:00:00.000Z");
    await page.getByRole("button", { name: "Earlier" }).click();
    await page.waitForURL(/from=2026-11-18T00/);
    await page.getByRole("button", { name: "Later" }).click();
    await page.waitForURL(/from=2026-11-19T00/);
    await page.getByLabel("Range").selectOption("24h");
    await page.waitForURL(/range=24h/);
    await page.getByRole("button", { name: "Earlier" }).click();
    await page.waitForURL(/from=2026-11-18T21/);
    await page.getByRole("button", { name: "Later" }).click();
    await page.waitForURL(/range=24h/);
    await state(page, "ready");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Copy with fixed dates" }).click();
    await page.getByText("Copied.").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).to.match(/from=2026-11-19T21.*to=2026-11-20T21/);
    await openDates(page);
    await page.getByLabel("Range").selectOption("last month");
    await page.getByRole("button", { name: "Dates: October 2026" }).waitFor();
  });

  it("From and To, and two days of a calendar whose weeks begin on Monday, set a custom window, which is part of the address; one day is a stop of Tab", async () => {
    const { page } = await on.ready("?view=stream&id=web", { prepare: unseen });
    await openDates(page);
    await page.getByLabel("From").fill("2026-11-31");
    await page.keyboard.press("Enter");
    await page.getByText("From needs a day").waitFor();
    await page.getByLabel("From").fill("2026-11-18");
    await page.getByLabel("To").fill("2026-11-19 12:00");
    await page.keyboard.press("Enter");
    await page.waitForURL(/to=2026-11-19T12/);
    await state(page, "ready");
    expect(new URL(page.url()).searchParams.get("from")).to.equal("2026-11-18T00:00:00.000Z");
    expect(await page.locator("figure tbody tr").count()).to.equal(36);
    const calendar = page.locator(".calendar");
    expect(await calendar.locator("th").first().innerText()).to.equal("Mo");
    await calendar.getByRole("button", { name: "16", exact: true }).click();
    await calendar.getByRole("button", { name: "10", exact: true }).click();
    await page.waitForURL(/from=2026-11-10T00.*to=2026-11-17T00/);
    expect(await calendar.locator("[tabindex='0']").allInnerTexts()).to.deep.equal(["10"]);
    for (const key of ["PageUp", "ArrowUp", "ArrowRight", "Enter", "End", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(/from=2026-10-04T00.*to=2026-10-05T00/);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Dates: 4 Oct 2026", expanded: false }).waitFor();
  });

  it("a list that arrives while somebody types leaves the text and the focus of the search", async () => {
    const { page, requests } = await on.ready("?view=segments", { prepare: unseen });
    const release = await holdRequests(page, /\/api\/segment\?.*q=/);
    const search = page.getByRole("searchbox", { name: "Search" });
    await page.clock.pauseAt(NOW + HOUR);
    await search.pressSequentially("ne");
    requests.length = 0;
    await page.clock.runFor(300);
    await until("the list is requested", () => requests.includes("GET /api/segment"));
    await search.pressSequentially("ws");
    release();
    await page.getByText("1–1 of 1").waitFor();
    // Effects of the new list run before the pause of the search ends.
    await page.clock.runFor(150);
    expect(await search.inputValue()).to.equal("news");
    await page.clock.runFor(300);
    await page.waitForURL(/q=news$/);
    await state(page, "ready");
    expect(await search.inputValue()).to.equal("news");
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).to.equal("searchbox");
  });

  it("Local time shows times of the browser's zone, while machine-readable times stay in UTC", async () => {
    const { page, errors } = await on.ready("?view=explore&series=stream.web.size&range=24h&interval=1h", {
      timezone: "Australia/Lord_Howe",
    });
    const newest = page.locator("figure tbody time").first();
    expect(await newest.textContent()).to.equal("20 Nov 2026, 21:00 UTC");
    await openDates(page);
    await page.getByLabel("Local time").check();
    await page.locator("th", { hasText: "Time (Australia/Lord_Howe)" }).waitFor({ state: "attached" });
    expect(await newest.textContent()).to.equal("21 Nov 2026, 08:00 Australia/Lord_Howe");
    expect(await newest.getAttribute("datetime")).to.equal("2026-11-20T21:00:00.000Z");
    expect(errors).to.deep.equal([]);
  });

  it("a hidden tab makes no request, and catches up once when it is shown again", async () => {
    const { page, requests } = await on.ready("?view=streams");
    const turn = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await turn(true);
    requests.length = 0;
    await page.clock.fastForward(HOUR);
    expect(requests).to.deep.equal([]);
    await turn(false);
    await page.clock.fastForward(1);
    await until("the view is loaded again", () => requests.length >= 2);
    expect(requests).to.deep.equal(["GET /api/stream", "POST /api/metric"]);
  });

  it("a refresh keeps the focus, an open table, its scroll position and the text of a field", async () => {
    const { page, requests } = await on.ready("?view=explore&series=stream.web.size&range=24h&interval=1h");
    await page.getByText("Values as a table").click();
    await page.evaluate("document.querySelector('.values').scrollTop = 120");
    await page.getByRole("combobox", { name: "Add a series" }).focus();
    await page.keyboard.type("mob");
    requests.length = 0;
    await page.clock.fastForward(HOUR / 4);
    await until("the view is loaded again", () => requests.includes("POST /api/metric"));
    await state(page, "ready");
    expect(await page.getByRole("combobox", { name: "Add a series" }).inputValue()).to.equal("mob");
    expect(await page.evaluate("document.activeElement.role")).to.equal("combobox");
    expect(await page.getByRole("button", { name: "Values as a table" }).getAttribute("aria-expanded")).to.equal(
      "true",
    );
    // A new bucket at the top may move the visible rows.
    expect(await page.evaluate("document.querySelector('.values').scrollTop")).to.be.at.least(120);
  });

  it("the live tail counts the open hour as it grows, and stops in a hidden tab", async () => {
    const message = { email: "live@example.org" };
    const send = async () => {
      expect((await on.service.fetch("/collect/json/live", { method: "POST", json: message })).status).to.equal(200);
    };
    await send();
    const { page, requests } = await on.ready("?view=stream&id=live");
    const live = page.locator("section.card", { hasText: "messages in the open hour" }).locator(".value data");
    const before = Number(await live.getAttribute("value"));
    await send();
    await page.clock.fastForward(2_500);
    await until("the message is counted", async () => Number(await live.getAttribute("value")) === before + 1);
    requests.length = 0;
    await page.evaluate('Object.defineProperty(document, "hidden", { configurable: true, value: true })');
    await page.clock.fastForward(2_500);
    await page.clock.fastForward(10_000);
    expect(requests).to.deep.equal([]);
  });

  it("a link of a table opens in another tab with Ctrl, and keeps range and comparison", async () => {
    const { page } = await on.ready("?range=4w&compare=true", { prepare: unseen });
    const another = page.context().waitForEvent("page");
    await page.getByRole("link", { name: "The buyers" }).click({ modifiers: ["ControlOrMeta"] });
    const tab = await another;
    await tab.waitForURL(/view=segment/);
    const query = new URL(tab.url()).searchParams;
    expect(Object.fromEntries(query)).to.include({ view: "segment", id: "buyers", range: "4w", compare: "true" });
    expect(await page.getAttribute("main", "data-view")).to.equal("overview");
  });
});
