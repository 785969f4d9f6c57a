// Writes the table of docs/settings.md from config/schema.json; with --print the page goes to stdout instead.
import { readFileSync, writeFileSync } from "node:fs";

const page = new URL("../docs/settings.md", import.meta.url);
const schema = JSON.parse(readFileSync(new URL("../config/schema.json", import.meta.url), "utf8"));

const rows = settingsOf(schema, []).map(({ path, setting }) => {
  const environment = setting.environment ?? path.join("_").toUpperCase();
  const value = setting.default;
  const shown = Array.isArray(value) ? value.join(",") || "none" : String(value);
  return `| \`${environment}\` | \`${path.join(".")}\` | \`${shown}\` | ${setting.description.replaceAll("|", "\\|")} |\n`;
});
const [text] = readFileSync(page, "utf8").split(/^\| /m);
const whole = `${text}| environment | setting | default | meaning |\n|---|---|---|---|\n${rows.join("")}`;
if (process.argv.includes("--print")) process.stdout.write(whole);
else writeFileSync(page, whole);

function settingsOf(part, path) {
  if (part.properties === undefined) return [{ path, setting: part }];
  return Object.entries(part.properties).flatMap(([name, child]) => settingsOf(child, [...path, name]));
}
