import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import { type Browser, chromium, type Locator, type Page } from "playwright-core";
import type { TestService } from "../support/service.js";

const program = process.env.TEST_CHROMIUM ?? "/usr/bin/chromium";

/**
 * Without the lists below the address field, which take longer to load for each tab than a page of the service. The
 * option replaces Playwright's list; the names in it that concern these tests follow.
 */
const withoutFeatures = [
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "AimEnabled"],
  ...[
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "MediaRouter",
    "PaintHolding",
  ],
  ...[
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
    "Translate",
  ],
];

/** A name of this machine that browsers do not trust over plain HTTP: pages get no clipboard and no random UUIDs. */
const OTHER_HOST = "service.example";

/** A browser without a window; undefined where Chromium is not installed. `TEST_CHROMIUM` names another program. */
export async function openBrowser(): Promise<Browser | undefined> {
  if (!existsSync(program)) return undefined;
  const args = [
    "--no-sandbox",
    `--disable-features=${withoutFeatures.join(",")}`,
    `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`,
  ];
  return chromium.launch({ executablePath: program, args });
}

export interface Opened {
  readonly page: Page;
  /** Requests such as `GET /api/key` in order, without files of the page and its checks of `/ready`. */
  readonly requests: string[];
  /** Errors of the console and the page, violations of the policy among them. */
  readonly errors: string[];
}

export interface OpenOptions {
  /** The query after `/dashboard`. */
  readonly search?: string;
  /** The key that the tab holds; the key with every scope when absent, null for none. */
  readonly key?: string | null;
  /** Unix ms at which the page's clock starts. */
  readonly now: number;
  readonly dark?: boolean;
  /** Time zone of the browser, such as `Europe/Oslo`; by default the machine's. */
  readonly timezone?: string;
  readonly hasTouch?: boolean;
  /** Opens the page from another host over plain HTTP. */
  readonly isInsecure?: boolean;
  /** Called before the page is opened. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** The dashboard in a tab of its own, with storage of its own. */
export async function openDashboard(browser: Browser, service: TestService, options: OpenOptions): Promise<Opened> {
  const {
    search = "",
    key = service.key,
    now,
    dark = false,
    timezone,
    hasTouch = false,
    isInsecure = false,
    prepare,
  } = options;
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    colorScheme: dark ? "dark" : "light",
    ...(timezone === undefined ? {} : { timezoneId: timezone }),
    hasTouch,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  context.setDefaultTimeout(40_000);
  const page = await context.newPage();
  const requests: string[] = [];
  const errors: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (!/^\/(dashboard|docs|ready)/.test(pathname)) requests.push(`${request.method()} ${pathname}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.clock.install({ time: now });
  if (key !== null)
    await page.addInitScript((held) => {
      const { sessionStorage } = globalThis as unknown as { sessionStorage: Map<string, string> & Storage };
      if (sessionStorage.getItem("visited") === null) sessionStorage.setItem("api-key", held);
      sessionStorage.setItem("visited", "true");
    }, key);
  await prepare?.(page);
  await page.goto(`${isInsecure ? `http://${OTHER_HOST}:${service.port}` : service.url}/dashboard${search}`);
  return { page, requests, errors };
}

interface Storage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
}

/** For \`prepare\`: the tab is never seen, so that its timer asks for nothing. */
export async function unseen(page: Page): Promise<void> {
  await page.addInitScript('Object.defineProperty(document, "hidden", { value: true })');
}

/** Waits until the page has one of these states. */
export async function state(page: Page, ...wanted: string[]): Promise<void> {
  await page.waitForSelector(wanted.map((one) => `main[data-state="${one}"]:not([aria-busy])`).join(", "));
}

/**
 * For \`prepare\`: returns a function that measures the scripts that the page has loaded, and compressed ones as they
 * are sent.
 */
export function scriptsOf(page: Page): () => Promise<{ bytes: number; compressed: number }> {
  const scripts: Promise<Buffer>[] = [];
  page.on("response", (response) => {
    if (response.url().endsWith(".js")) scripts.push(response.body());
  });
  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);
  return async () => {
    const bodies = await Promise.all(scripts);
    return {
      bytes: sum(bodies.map((body) => body.length)),
      compressed: sum(bodies.map((body) => gzipSync(body).length)),
    };
  };
}

/** Opens the panel of range, days, comparison and time zone. */
export async function openDates(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Dates/ }).click();
  await page.getByLabel("Local time").waitFor();
}

/** Holds the requests of a page whose address matches; returns a function that releases them. */
export async function holdRequests(page: Page, address: RegExp): Promise<() => void> {
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(address, async (route) => {
    await held;
    await route.continue();
  });
  return () => release();
}

/** Clicks a button that downloads a file; returns its content and its name. */
export async function downloaded(button: Locator): Promise<{ bytes: Buffer; text: string; name: string }> {
  const saved = button.page().waitForEvent("download");
  await button.click();
  const bytes = readFileSync(await (await saved).path());
  return { bytes, text: bytes.toString(), name: (await saved).suggestedFilename() };
}

/** Pixels of the page to the right of the window. */
export function sideways(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Serious and critical findings of axe, a line for each; of one part of the page and one rule where they are named. */
export async function axeFindings(page: Page, part = "html", rule?: string): Promise<string[]> {
  await page.evaluate(axeSource);
  const options = rule === undefined ? {} : { runOnly: [rule] };
  return page.evaluate(`axe.run(${JSON.stringify(part)}, ${JSON.stringify(options)}).then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => id + ": " + nodes.map(({ target }) => target.join(" ")).join(", ")))`);
}
