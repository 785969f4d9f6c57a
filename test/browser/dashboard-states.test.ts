import { expect } from "chai";
import type { Page, Route } from "playwright-core";
import { pointOf, writePoints } from "../support/requests.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { holdRequests, type Opened, openDates, sideways, state } from "./browser.js";
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

  it("the key panel shows the scopes and only the bounds that the key has; Escape and Cancel close it", async () => {
    const bounds = { fields: ["plan", "segments"], by: "email", origins: [on.service.url], rate: 600 };
    const { key } = await on.newKey(["metric:read", "entity:read"], on.service, { ...bounds, expiresAt: NOW + HOUR });
    const { page, requests, errors } = await on.ready("?view=health", { key });
    expect(requests, "a service without hooks").to.not.include("GET /api/hook");
    const panel = page.getByRole("region", { name: "Key" });
    const open = () => page.getByRole("button", { name: "Key", exact: true }).click();
    await open();
    await panel.getByText("Expires").waitFor();
    const terms = ["Name", "Scopes", "Reads attributes", "Reads by", "Origins", "Requests per minute", "Expires"];
    expect(await panel.locator("dt").allInnerTexts()).to.deep.equal(terms);
    const [name, scopes, ...values] = await panel.locator("dd").allInnerTexts();
    expect([name, scopes]).to.deep.equal(["a test", "entity:read, metric:read"]);
    expect(values.slice(0, 4)).to.deep.equal(["plan, segments", "email", on.service.url, "600"]);
    expect(values[4]).to.match(/^\d+ \w+ \d{4}, \d\d:\d\d/);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await open();
    await page.getByRole("button", { name: "Cancel" }).click();
    await panel.waitFor({ state: "detached" });
    expect(await page.evaluate("sessionStorage.getItem('api-key')")).to.equal(key);
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

  it("a revoked key ends a view with one request within a minute, also a profile", async () => {
    for (const view of ["health", "people"]) {
      const { key, id } = await on.newKey(["metric:read", "entity:read"], empty);
      const one = await on.ready(`?view=${view}`, { key }, empty);
      await empty.service.stores.keys.revoke(id, NOW);
      nowOfEmpty += HOUR;
      one.requests.length = 0;
      await one.page.clock.fastForward(MINUTE);
      await state(one.page, "wrong-key");
      await one.page.clock.fastForward(HOUR);
      expect(one.requests, view).to.have.length(1);
      onlyRefusals(one);
    }
  });

  it("a key that is revoked or expires ends a page that makes no requests, with its profile, within a minute", async () => {
    const { key, id } = await on.newKey(["entity:read"], empty);
    const one = await on.open("", { key }, empty);
    await one.page.waitForSelector("main[data-view=people][data-state=ready]");
    await empty.service.stores.keys.revoke(id, NOW);
    nowOfEmpty += HOUR;
    one.requests.length = 0;
    await one.page.clock.fastForward(2 * MINUTE);
    await state(one.page, "wrong-key");
    expect(one.requests).to.deep.equal(["GET /api/key"]);
    const expiring = await on.newKey(["metric:read"], on.service, { expiresAt: NOW + MINUTE });
    const other = await on.ready("?view=health", { key: expiring.key });
    other.requests.length = 0;
    await other.page.clock.fastForward(MINUTE);
    await state(other.page, "wrong-key");
    expect(await other.page.innerText("main [role=alert]")).to.include("This key has expired");
    expect(other.requests).to.deep.equal([]);
    expect(await other.page.locator("header").getByRole("link").count()).to.equal(0);
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

  it("a 503 leaves the last figures, greyed and in place, and is followed by a request after Retry-After", async () => {
    const one = await on.ready("?view=streams");
    const { page, requests } = one;
    const figures = await page.locator("table").innerText();
    const top = () => page.locator("table").boundingBox();
    const before = await top();
    const body = JSON.stringify({ status: 503, message: "Busy for now" });
    await page.route(/\/api\/stream/, (route) =>
      route.fulfill({ status: 503, headers: { "retry-after": "30" }, body }),
    );
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

  for (const view of ["overview", "people"]) {
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

  it("a view that loads shows a skeleton, which moves unless people prefer reduced motion; later the last figures stay", async () => {
    let release = () => {};
    const hold = async (page: Page) => {
      release = await holdRequests(page, /\/api\/metric/);
    };
    const { page } = await on.open("?view=segment&id=newsletter", { prepare: hold });
    await page.waitForSelector("main[data-state=loading][aria-busy=true] .skeleton");
    const moving = () => page.evaluate<number>("document.getAnimations().length");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await until("the skeleton pulses", async () => (await moving()) >= 3);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await until("nothing moves", async () => (await moving()) === 0);
    release();
    await state(page, "ready");
    for (const [change, shown] of [
      [() => page.keyboard.press("r"), "ready"],
      [() => openDates(page).then(() => page.getByLabel("Range").selectOption("4w")), "loading"],
    ] as const) {
      await hold(page);
      await change();
      await page.waitForSelector(`main[aria-busy=true][data-state=${shown}] figure`);
      expect(await page.locator("figure").count()).to.equal(1);
      release();
      await state(page, "ready");
    }
  });

  it("overview and lists of an empty service show steps that can be pasted", async () => {
    for (const [view, ...steps] of [
      ["overview", "collect/json/web", "api/metric/points"],
      ["segments", "collect/json/web", "api/metric/points"],
      ["experiences", "api/experience/welcome"],
    ] as const) {
      const { page, errors } = await on.open(`?view=${view}`, {}, empty);
      await state(page, "empty");
      const text = await page.innerText("main");
      for (const step of steps) expect(text, view).to.include(step);
      await page.setViewportSize({ width: 390, height: 900 });
      expect(await sideways(page), view).to.equal(0);
      expect(errors).to.deep.equal([]);
    }
  });

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
