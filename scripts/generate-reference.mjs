// Writes the generated part of pages in docs, below their marker line: settings from config/schema.json, routes from
// the OpenAPI document, commands from --help of the built service, the picture of the architecture from imports.
// `--print settings` (routes, commands, architecture) prints a page instead.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer } from "./bench/server.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const MARKER = "<!-- Generated below this line by node scripts/generate-reference.mjs -->\n";

const generators = { settings, routes, commands, architecture };

/** Parts of src in the picture. A file belongs to the first whose path begins its own. */
const PARTS = [
  ...["client", "dashboard", "http/edge", "http/core", "http", "config"],
  ...["entities", "metrics", "catalogue", "deletions", "keys", "stores"],
];

const [option, wanted] = process.argv.slice(2);
if (option === "--print") {
  process.stdout.write(await pageWith(wanted));
} else {
  for (const name of Object.keys(generators)) writeFileSync(fileOf(name), await pageWith(name));
}

function fileOf(name) {
  return join(root, `docs/${name}.md`);
}

async function pageWith(name) {
  const [head] = readFileSync(fileOf(name), "utf8").split(MARKER);
  return `${head}${MARKER}\n${await generators[name]()}`;
}

function table(header, rows) {
  const lines = [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`);
  return lines.join("").replaceAll(/^\| --- .*$/gm, (line) => line.replaceAll(" ", ""));
}

/** Returns a text as one line of a table cell. */
function cell(text) {
  return text.replaceAll(/\s*\n+\s*/g, " ").replaceAll("|", "\\|");
}

function settings() {
  const schema = JSON.parse(readFileSync(join(root, "config/schema.json"), "utf8"));
  const rows = settingsOf(schema, []).map(({ path, setting }) => {
    const environment = setting.environment ?? path.join("_").toUpperCase();
    const value = setting.default;
    const shown = Array.isArray(value) ? value.join(",") || "none" : String(value);
    return [`\`${environment}\``, `\`${path.join(".")}\``, `\`${shown}\``, cell(setting.description)];
  });
  return table(["environment", "setting", "default", "meaning"], rows);
}

function settingsOf(part, path) {
  if (part.properties === undefined || part.default !== undefined) return [{ path, setting: part }];
  return Object.entries(part.properties).flatMap(([name, child]) => settingsOf(child, [...path, name]));
}

async function routes() {
  const document = await openApiDocument();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  for (const [path, { post: operation }] of Object.entries(document.webhooks))
    operations.push({ path, method: "Webhook", operation });
  const sections = document.tags.map(({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return `## ${name[0].toUpperCase()}${name.slice(1)}\n\n${own.map(routeText).join("\n")}`;
  });
  return sections.join("\n");
}

function routeText({
  path,
  method,
  operation: { summary, description = "", parameters = [], requestBody, responses },
}) {
  const bodies = Object.keys(requestBody?.content ?? {});
  const answers = Object.entries(responses).map(([status, { content = {} }]) => {
    const types = Object.keys(content);
    return status < "300" && types.length > 0 ? `${status} (${types.join(", ")})` : status;
  });
  const rows = parameters.map(({ name, in: place, required, description = "", schema = {} }) => {
    const fallback = schema.default === undefined ? "" : ` Default: \`${schema.default}\`.`;
    const choices =
      schema.enum === undefined ? "" : ` One of ${schema.enum.map((value) => `\`${value}\``).join(", ")}.`;
    return [`\`${name}\``, required ? `${place}, required` : place, cell(`${description}${choices}${fallback}`)];
  });
  return [
    `### ${method} ${path}\n`,
    `**${summary}.** ${description}\n`,
    ...(rows.length === 0 ? [] : [table(["parameter", "in", "meaning"], rows)]),
    `${bodies.length === 0 ? "" : `Body: ${bodies.join(", ")}. `}Responses: ${answers.join(", ")}.\n`,
  ].join("\n");
}

async function openApiDocument() {
  const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  const environment = { DATA_DIR: dir, PORT: "0", LOG_LEVEL: "error" };
  const service = await startServer([join(root, "dist/main.js")], environment);
  const document = await (await fetch(new URL("/openapi.json", service.address))).json();
  await service.stop();
  rmSync(dir, { recursive: true, force: true });
  return document;
}

function commands() {
  const programs = ["key", "collect", "ingest", "export", "erase", "receipt", "backup", "migrate"];
  const all = [
    ["npm start", "scripts/start.mjs"],
    ...programs.map((name) => [`npm run ${name}`, `dist/commands/${name}.js`]),
    ["npm run demo", "scripts/demo.mjs"],
    ["npm run bench", "scripts/bench/run.mjs"],
  ];
  return all
    .map(([name, file]) => {
      const help = execFileSync(process.execPath, [join(root, file), "--help"], { encoding: "utf8" });
      return `## ${name}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`;
    })
    .join("\n");
}

/** Returns a Mermaid drawing of which part imports which. */
function architecture() {
  const src = join(root, "src");
  const edges = new Set();
  for (const name of readdirSync(src, { recursive: true })) {
    if (!/\.tsx?$/.test(name)) continue;
    const from = partOf(name);
    for (const [, to] of readFileSync(join(src, name), "utf8").matchAll(/(?:from|import\() ?"(\.[^"]+)"/g)) {
      const part = partOf(join(dirname(name), to));
      if (from !== undefined && part !== undefined && part !== from) edges.add(`  ${idOf(from)} --> ${idOf(part)}`);
    }
  }
  const nodes = PARTS.map((part) => `  ${idOf(part)}["${part}"]`);
  return `\`\`\`mermaid\nflowchart LR\n${[...nodes, ...[...edges].sort()].join("\n")}\n\`\`\`\n`;
}

function partOf(path) {
  const file = path.replaceAll("\\", "/").replace(/\.(tsx?|js)$/, "");
  return PARTS.find((part) => file === part || file.startsWith(`${part}/`));
}

function idOf(part) {
  return part.replaceAll(/[^a-z]/g, "_");
}
