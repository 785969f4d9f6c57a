import type { Browser } from "playwright-core";
import type { KeyBounds, Scope } from "../../src/keys/api-key.js";
import { mintKey } from "../../src/keys/verify-key.js";
import type { TestService } from "../support/service.js";
import { type Opened, type OpenOptions, openBrowser, openDashboard, state } from "./browser.js";
import { NOW } from "./dashboard-data.js";

/** A browser, and the service whose dashboard it opens. */
export interface Stage {
  readonly service: TestService;
  /** The dashboard in a tab of its own, until the test ends. */
  open(search?: string, options?: Partial<OpenOptions>, of?: TestService): Promise<Opened>;
  /** The same when its view has been loaded. */
  ready(search?: string, options?: Partial<OpenOptions>, of?: TestService): Promise<Opened>;
  /** A key that the service accepts. */
  newKey(scopes: Scope[], of?: TestService, bounds?: KeyBounds): Promise<{ key: string; id: string }>;
}

/** For the suite that calls it: its tests are skipped where Chromium is not installed. */
export function stage(start: () => Promise<TestService>): Stage {
  let browser: Browser | undefined;
  let service: TestService | undefined;
  const opened: Opened[] = [];

  before(async function () {
    browser = await openBrowser();
    if (browser === undefined) return this.skip();
    service = await start();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });
  afterEach(async () => {
    for (const { page } of opened.splice(0)) await page.context().close();
  });

  const open: Stage["open"] = async (search = "", options = {}, of = service as TestService) => {
    const one = await openDashboard(browser as Browser, of, { now: NOW, search, ...options });
    opened.push(one);
    return one;
  };
  return {
    get service() {
      return service as TestService;
    },
    open,
    async ready(...options) {
      const one = await open(...options);
      await state(one.page, "ready");
      return one;
    },
    async newKey(scopes, of = service as TestService, bounds = {}) {
      const { key, stored } = mintKey("a test", scopes, NOW, bounds);
      await of.service.stores.keys.add(stored);
      return { key, id: stored.id };
    },
  };
}
