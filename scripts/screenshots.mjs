// node scripts/screenshots.mjs [address]: pictures of each view of the demo in docs/dashboard, by Chromium. Start `npm run demo` first.
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
  experiences: "?view=experiences",
  streams: "?view=streams",
  explore: `?view=explore&${series.map((name) => `series=${name}`).join("&")}`,
  erasure: "?view=erasure",
  health: "?view=health",
};

const browser = await chromium.launch({
  executablePath: process.env.TEST_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const context = await browser.newContext({ viewport: { width: 960, height: 600 }, colorScheme: "light" });
await context.addInitScript((held) => sessionStorage.setItem("api-key", held), key);
const page = await context.newPage();
for (const [name, search] of Object.entries(pictures)) {
  await page.goto(`${address}/dashboard${search}`);
  await page.waitForSelector("main[data-state=ready]:not([aria-busy])");
  const path = join(folder, `${name}.jpg`);
  await page.screenshot({ path, type: "jpeg", quality: 50 });
  process.stdout.write(`${path}: ${Math.ceil(statSync(path).size / 1024)} KiB\n`);
}
await browser.close();
