// node scripts/screenshots.mjs [address]: writes pictures of each view of the demo to docs/dashboard, with Chromium.
// Start `npm run demo` first.
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { root } from "./set-up.mjs";

const [address = "http://127.0.0.1:8080"] = process.argv.slice(2);
const keyFile = join(process.env.DATA_DIR ?? join(root, "demo-data"), "demo-key");
if (!existsSync(keyFile)) {
  process.stderr.write(`${keyFile} is not there: start npm run demo first\n`);
  process.exit(1);
}
const key = readFileSync(keyFile, "utf8").trim();
const folder = join(root, "docs/dashboard");
mkdirSync(folder, { recursive: true });

const series = ["stream.web.size", "stream.mobile.size", "experience.welcome-offer.conversionrate"];
const pictures = {
  overview: "?view=overview",
  segments: "?view=segments",
  segment: "?view=segment&id=mobile-app",
  experiences: "?view=experiences",
  experience: "?view=experience&id=app-tour",
  streams: "?view=streams",
  stream: "?view=stream&id=email",
  people: "?view=people",
  explore: `?view=explore&${series.map((name) => `series=${name}`).join("&")}`,
  deletions: "?view=deletions",
  alerts: "?view=alerts",
  health: "?view=health",
};
const READY = "main[data-state=ready]:not([aria-busy])";

const browser = await chromium.launch({
  executablePath: process.env.TEST_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
await take(Object.entries(pictures), { width: 1280, height: 800 });
await take([["overview-phone", pictures.overview]], { width: 390, height: 844 });
await browser.close();

async function take(views, viewport) {
  const context = await browser.newContext({ viewport, colorScheme: "light" });
  await context.addInitScript((held) => sessionStorage.setItem("api-key", held), key);
  const page = await context.newPage();
  for (const [name, search] of views) {
    await page.goto(`${address}/dashboard${search}`);
    await page.waitForSelector(READY);
    if (name === "people") await lookUpPerson(page);
    const path = join(folder, `${name}.jpg`);
    await page.screenshot({ path, type: "jpeg", quality: 50 });
    process.stdout.write(`${path}: ${Math.ceil(statSync(path).size / 1024)} KiB\n`);
  }
  await context.close();
}

/** Opens the view of one of the synthetic people. */
async function lookUpPerson(page) {
  await page.getByLabel("Field").selectOption("email");
  await page.getByLabel("Value", { exact: true }).fill("visitor-1@example.com");
  await page.getByRole("button", { name: "Look up" }).click();
  await page.getByText("visitor-1", { exact: true }).first().waitFor();
}
