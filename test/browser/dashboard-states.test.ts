import { expect } from "chai";
import type { Route } from "playwright-core";
import { pointOf, writePoints } from "../support/requests.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { holdRequests, type Opened, sideways, state } from "./browser.js";
import { fillService, HOUR, NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const MINUTE = 60_000;

describe("in the dashboard,", function () {
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

  const isRefusal = (text: string) => text.startsWith("Failed to load resource");
  /** No error was reported besides the requests that the test made fail. */
  const onlyRefusals = ({ errors }: Opened) => expect(errors.filter((text) => !isRefusal(text))).to.deep.equal([]);

  it("a page without a key explains keys and makes no request; a typed key works, and Forget it removes it", async () => {
    const { page, requests, errors } = await on.open("", { key: null });
    await state(page, "no-key");
    expect(await page.innerText("main")).to.include("npx entity-metrics key create");
    await page.clock.fastForward(HOUR);
    expect(requests).to.deep.equal([]);
    await page.getByLabel("API key").fill(on.service.key);
    await page.keyboard.press("Enter");
    await state(page, "ready");
    expect(page.url()).to.not.include(on.service.key);
    expect(await page.evaluate("JSON.stringify(localStorage)")).to.not.include(on.service.key);
    await page.getByRole("button", { name: "Key", exact: true }).click();
    await page.getByRole("button", { name: "Forget it" }).click();
    await state(page, "no-key");
    expect(await page.evaluate("sessionStorage.getItem('api-key')")).to.equal(null);
    expect(errors).to.deep.equal([]);
  });

  it("the key panel shows only the bounds that the key has", async () => {
    const bounds = { fields: ["plan", "segments"], by: "email", origins: [on.service.url], rate: 600 };
    const { key } = await on.newKey(["metric:read", "entity:read"], on.service, { ...bounds, expiresAt: NOW + HOUR });
    const { page, errors } = await on.ready("?view=health", { key });
    await page.getByRole("button", { name: "Key", exact: true }).click();
    const panel = page.getByRole("region", { name: "Key" });
    const terms = await panel.locator("dt").allInnerTexts();
    const values = await panel.locator("dd").allInnerTexts();
    expect(terms.slice(2)).to.deep.equal(["Reads attributes", "Reads by", "Origins", "Requests per minute", "Expires"]);
    expect(values.slice(2, 6)).to.deep.equal(["plan, segments", "email", on.service.url, "600"]);
    expect(values[6]).to.match(/^\d+ \w+ \d{4}, \d\d:\d\d/);
    expect(errors).to.deep.equal([]);
  });

  it("the key panel shows the scopes, and Escape and Cancel close it without a change", async () => {
    const { key } = await on.newKey(["metric:read"]);
    const { page } = await on.ready("?view=health", { key });
    const panel = page.getByRole("region", { name: "Key" });
    await page.getByRole("button", { name: "Key", exact: true }).click();
    expect(await panel.innerText())
      .to.include("metric:read")
      .and.include("a test");
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Key", exact: true }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await panel.waitFor({ state: "detached" });
    expect(await page.evaluate("sessionStorage.getItem('api-key')")).to.equal(key);
  });

  it("a key with a character that no key has is refused without a request", async () => {
    const { page, requests, errors } = await on.open("", { key: null });
    await state(page, "no-key");
    await page.getByLabel("API key").fill("em_…");
    await page.keyboard.press("Enter");
    await state(page, "wrong-key");
    expect(await page.innerText("main [role=alert]")).to.include("a character that no key has");
    await page.clock.fastForward(HOUR);
    expect(requests).to.deep.equal([]);
    expect(errors).to.deep.equal([]);
  });

  it("a sign-in link signs in once, and its code leaves the address at once", async () => {
    const code = on.service.service.signInCodes.issue(on.service.key);
    const one = await on.ready(`?view=health#code=${code}`, { key: null });
    expect(one.page.url()).to.match(/\?view=health$/);
    expect(await one.page.evaluate("sessionStorage.getItem('api-key')")).to.equal(on.service.key);
    const other = await on.open(`?view=health#code=${code}`, { key: null });
    await state(other.page, "wrong-key");
    expect(await other.page.innerText("main [role=alert]")).to.include("was used before");
    expect(other.page.url()).to.not.include(code);
    onlyRefusals(one);
  });

  it("a wrong key is sent once, to GET /api/key only", async () => {
    const one = await on.open("", { key: "em_unknown_0123456789abcdef0123456789abcdef" });
    await state(one.page, "wrong-key");
    await one.page.clock.fastForward(HOUR);
    expect(one.requests).to.deep.equal(["GET /api/key"]);
    onlyRefusals(one);
  });

  it("a revoked key ends the polling with one request", async () => {
    const { key, id } = await on.newKey(["metric:read"], empty);
    const one = await on.ready("?view=health", { key }, empty);
    await empty.service.stores.keys.revoke(id, NOW);
    nowOfEmpty += HOUR;
    one.requests.length = 0;
    await one.page.clock.fastForward(MINUTE);
    await state(one.page, "wrong-key");
    await one.page.clock.fastForward(HOUR);
    expect(one.requests).to.have.length(1);
    onlyRefusals(one);
  });

  it("a view without its scope stays in the bar, and its link and page name the scope", async () => {
    const { key } = await on.newKey(["metric:read"]);
    const { page, requests, errors } = await on.open("", { key });
    await state(page, "ready");
    await page.getByRole("link", { name: "Deletions needs entity:delete or admin" }).click();
    await state(page, "forbidden");
    expect(await page.innerText("main"))
      .to.include("entity:delete or admin")
      .and.include("--scopes entity:delete");
    expect(requests).to.not.include("GET /api/deletion");
    expect(errors).to.deep.equal([]);
  });

  it("a 403 affects one card and leaves the others", async () => {
    const body = JSON.stringify({ status: 403, message: "Forbidden", errors: [{ message: "Needs scope x" }] });
    const one = await on.open("", {
      prepare: async (page) => {
        await page.route(/\/api\/experience/, (route) => route.fulfill({ status: 403, body }));
      },
    });
    await state(one.page, "ready");
    const card = one.page.locator("section", { hasText: "Needs scope x" });
    expect(await card.locator("h2").allInnerTexts()).to.deep.equal(["Experiences that changed most"]);
    expect(await one.page.locator("figure").count()).to.equal(1);
    onlyRefusals(one);
  });

  for (const status of [429, 503]) {
    it(`a ${status} leaves the last figures, greyed and in place, and is followed by a request after Retry-After`, async () => {
      const one = await on.ready("?view=streams");
      const { page, requests } = one;
      const figures = await page.locator("table").innerText();
      const top = () => page.locator("table").boundingBox();
      const before = await top();
      const body = JSON.stringify({ status, message: "Busy for now" });
      await page.route(/\/api\/stream/, (route) => route.fulfill({ status, headers: { "retry-after": "30" }, body }));
      await page.keyboard.press("r");
      await state(page, "stale");
      expect(await page.locator("table").innerText()).to.equal(figures);
      expect(await top()).to.deep.equal(before);
      expect(await page.getByRole("status").first().innerText()).to.match(/Busy for now.*as of 21:52/);
      await page.unroute(/\/api\/stream/);
      requests.length = 0;
      await page.clock.fastForward(25_000);
      expect(requests).to.deep.equal([]);
      await page.clock.fastForward(6_000);
      await state(page, "ready");
      onlyRefusals(one);
    });
  }

  for (const view of ["overview", "people", "health", "segment&id=newsletter"]) {
    it(`${view} shows within 30 s that the service is unreachable or a store is down, and that it is back`, async () => {
      const one = await on.open(`?view=${view}`);
      const { page } = one;
      const { ready, ...rest } = ((await (await on.service.fetch("/ready")).json()) as { data: { ready: boolean } })
        .data;
      const down = { name: "metrics", required: false, state: "down" };
      const body = JSON.stringify({ status: 200, data: { ready, ...rest, stores: [down] } });
      for (const [paths, trouble, text] of [
        [/\/(ready|metrics|api)/, (route: Route) => route.abort(), "The service is unreachable. Figures as of 21:5"],
        [/\/ready/, (route: Route) => route.fulfill({ body }), "metrics is down. Figures as of 21:5"],
      ] as const) {
        await state(page, "ready");
        await page.route(paths, trouble);
        await page.clock.fastForward(30_000);
        await state(page, "stale");
        await page.getByText(text).waitFor();
        await page.unrouteAll();
        await page.clock.fastForward(30_000);
      }
      await state(page, "ready");
      onlyRefusals(one);
    });
  }

  it("the state is loading from a change of the range until its figures are drawn, and the last ones stay", async () => {
    const { page } = await on.ready("?view=segment&id=newsletter");
    const release = await holdRequests(page, /\/api\/metric/);
    await page.getByLabel("Range").selectOption("4w");
    await page.waitForSelector("main[data-state=loading] figure");
    release();
    await state(page, "ready");
  });

  it("the live tail ends with a revoked key, and waits for Retry-After", async () => {
    const { key } = await on.newKey(["metric:read"]);
    const one = await on.ready("?view=stream&id=web", { key });
    const { page, requests } = one;
    const answer = (status: number) =>
      page.route(/\/api\/(stream|key)/, (route) =>
        route.fulfill({ status, headers: { "retry-after": "60" }, body: JSON.stringify({ status, message: "No" }) }),
      );
    const polls = () => requests.filter((request) => request === "GET /api/stream").length;
    await answer(503);
    requests.length = 0;
    await page.clock.fastForward(2_500);
    await until("one poll is refused", () => polls() === 1);
    await page.waitForTimeout(100);
    await page.clock.fastForward(30_000);
    expect(polls()).to.equal(1);
    await page.unrouteAll();
    await answer(401);
    await page.clock.fastForward(31_000);
    await state(page, "wrong-key");
    requests.length = 0;
    await page.clock.fastForward(HOUR);
    expect(requests).to.deep.equal([]);
    onlyRefusals(one);
  });

  it("a skeleton of the same width is shown while a view loads, but not during a refresh", async () => {
    let release = () => {};
    const { page } = await on.open("?view=segment&id=newsletter", {
      prepare: async (page) => {
        release = await holdRequests(page, /\/api\/metric/);
      },
    });
    await page.waitForSelector("main[data-state=loading][aria-busy=true] .skeleton");
    release();
    await state(page, "ready");
    release = await holdRequests(page, /\/api\/metric/);
    await page.keyboard.press("r");
    await page.waitForSelector("main[aria-busy=true]");
    expect(await page.getAttribute("main", "data-state")).to.equal("ready");
    expect(await page.locator("figure").count()).to.equal(1);
    release();
    await state(page, "ready");
  });

  for (const view of ["overview", "segments", "streams", "experiences"]) {
    it(`${view} of an empty service shows steps that can be pasted`, async () => {
      const { page, errors } = await on.open(`?view=${view}`, {}, empty);
      await state(page, "empty");
      const text = await page.innerText("main");
      if (view === "experiences") expect(text).to.include("api/experience/welcome");
      else expect(text).to.include("collect/json/web").and.include("api/metric/points");
      await page.setViewportSize({ width: 390, height: 900 });
      expect(await sideways(page)).to.equal(0);
      expect(errors).to.deep.equal([]);
    });
  }

  it("the overview of a service whose first write was a point shows that point within 10 s", async () => {
    const service = await startService({}, { clock: () => NOW });
    try {
      const { page } = await on.open("?view=overview", {}, service);
      await state(page, "empty");
      await writePoints(service, [pointOf("segment", "hello", 42, NOW)]);
      await page.clock.fastForward(10_000);
      await state(page, "ready");
      expect(await page.locator('th[data-series="segment.hello.size"]').count()).to.equal(1);
      expect(await page.locator('figure data[value="42"]').count()).to.be.above(0);
      expect(await page.innerText("[data-figure=segments]")).to.include("and 1 with points only");
      await page.getByRole("link", { name: "Segments", exact: true }).click();
      await page.getByRole("table", { name: "Segments that only have points" }).getByRole("link").waitFor();
      await state(page, "ready");
      expect(await page.innerText("main")).to.include("1 not in the catalogue");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Go to" }).fill("ELL");
      await page.clock.runFor(300);
      await page.getByRole("option", { name: "hello" }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForSelector("main[data-view=segment][data-state=ready]");
      expect(new URL(page.url()).searchParams.get("id")).to.equal("hello");
      await page.context().close();
    } finally {
      await service.stop();
    }
  });

  it("a response that does not arrive within 30 s is abandoned, and requested again", async () => {
    const { page } = await on.open("?view=segments", {
      prepare: async (page) => {
        await page.addInitScript(`AbortSignal.timeout = (ms) => {
          const limit = new AbortController();
          setTimeout(() => limit.abort(new DOMException("late", "TimeoutError")), ms);
          return limit.signal;
        }`);
      },
    });
    await state(page, "ready");
    let requested = false;
    await page.route(/\/api\/stream/, () => {
      requested = true;
    });
    await page.getByRole("link", { name: "Streams" }).click();
    await until("the list is requested", () => requested);
    await page.clock.fastForward(31_000);
    await state(page, "stale");
    expect(await page.getByRole("alert").innerText()).to.include("did not respond within 30 s");
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.clock.fastForward(11_000);
    await state(page, "ready");
  });
});
