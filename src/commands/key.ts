import { Argument, Command } from "commander";
import { systemClock } from "../clock.js";
import { readSettings, type Settings } from "../config/settings.js";
import { timeText } from "../formats/instant.js";
import { type KeyBounds, type KeyStore, type Scope, scopes } from "../keys/api-key.js";
import { isExpired, shownBounds } from "../keys/bounds.js";
import { mintKey } from "../keys/verify-key.js";
import { openKeys } from "../stores/open-stores.js";
import { addBoundOptions, type BoundOptions, givenBound, readBounds } from "./key-bounds.js";
import { print, runCommand, UsageError } from "./run-command.js";

const command = new Command("npm run key --")
  .description("Creates, lists and revokes API keys. A running service applies changes within 5 seconds.")
  .addArgument(new Argument("<action>", "what to do").choices(["create", "list", "revoke"]))
  .argument("[id]", "id of the key to revoke, from list")
  .option("--scopes <scopes>", `scopes of a new key, separated by commas: ${scopes.join(", ")}`)
  .option("--name <name>", "purpose of a new key", "");
addBoundOptions(command);
command.addHelpText(
  "after",
  `
Examples:
  npm run key -- create --scopes metric:read,metric:write --name dashboards
  npm run key -- create --scopes entity:read --by _uid --fields plan,segments --origins https://www.example.com \\
    --rate 600 --expires 90d --name website
  npm run key -- list
  npm run key -- revoke 0123456789ab

A new key is shown once, alone on stdout; only its digest is stored. Bounds cannot be changed: create a new key and
revoke the old one. --stream, --fields and --by cannot be combined with entity:delete, entity:export or admin. The store
comes from the settings (DATA_DIR, ENTITIES_URL, CONFIG).`,
);

await runCommand(command, async () => {
  const [action, id] = command.args;
  const { scopes: named, name, ...options } = command.opts<{ scopes?: string; name: string } & BoundOptions>();
  const wanted = action === "create" ? readScopes(named) : [];
  const bound = givenBound(options);
  if (action !== "create" && bound !== undefined) throw new UsageError(`Only create takes ${bound}`);
  if (action === "revoke" && id === undefined)
    throw new UsageError("revoke needs the id of a key; key list shows the ids");
  if (action !== "revoke" && id !== undefined) throw new UsageError(`${action} takes no id`);
  if (/\p{Cc}/u.test(name) || name.length > 256) {
    throw new UsageError("A name has at most 256 characters and no control character");
  }
  const settings = readSettings(process.env);
  const fields = options.by === undefined ? [] : await identityFields(settings);
  const bounds = readBounds(options, wanted, systemClock(), fields);
  const { keys, close } = await openKeys(settings);
  try {
    if (action === "create") return await create(keys, name, wanted, bounds);
    return action === "list" ? await list(keys) : await revoke(keys, id ?? "");
  } finally {
    await close();
  }
});

/** Returns the identity fields of all tables. Loads the service, which no other option needs. */
async function identityFields(settings: Settings): Promise<string[]> {
  const { configuredTables } = await import("../compose.js");
  const names = [...configuredTables(settings).values()].flatMap(({ identities }) =>
    identities.map(({ name }) => name),
  );
  return [...new Set(names)];
}

function readScopes(text: string | undefined): Scope[] {
  const named = (text ?? "").split(",").map((name) => name.trim());
  const known = scopes.filter((scope) => named.includes(scope));
  if (known.length === 0 || named.some((name) => !known.some((scope) => scope === name))) {
    throw new UsageError(`--scopes takes one or more of ${scopes.join(", ")}, separated by commas`);
  }
  return known;
}

/** Prints a new key before storing it: a key that could not be shown never becomes valid. */
async function create(keys: KeyStore, name: string, wanted: readonly Scope[], bounds: KeyBounds): Promise<number> {
  const { key, stored } = mintKey(name, wanted, systemClock(), bounds);
  await print(`${key}\n`);
  await keys.add(stored);
  return 0;
}

async function list(keys: KeyStore): Promise<number> {
  const now = systemClock();
  const rows = (await keys.list()).map(({ id, name, scopes, bounds, createdAt, lastUsedOn, revokedAt }) => {
    const lastUse = lastUsedOn === undefined ? "never" : timeText(lastUsedOn).slice(0, "YYYY-MM-DD".length);
    const valid = isExpired(bounds, now) ? "expired" : "valid";
    const state = revokedAt === undefined ? valid : `revoked ${timeText(revokedAt)}`;
    return [id, timeText(createdAt), lastUse, state, scopes.join(","), boundsText(bounds), name];
  });
  process.stdout.write(table([["id", "created", "last used", "state", "scopes", "bounds", "name"], ...rows]));
  return 0;
}

function boundsText(bounds: KeyBounds): string {
  const texts = Object.entries(shownBounds(bounds)).map(([name, value]) => `${name}=${value}`);
  return texts.join("; ") || "none";
}

/** Formats rows with tabs for programs and padded columns for people. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column < row.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell)).join("\t");
  return rows.map((row) => `${line(row)}\n`).join("");
}

async function revoke(keys: KeyStore, id: string): Promise<number> {
  if (await keys.revoke(id, systemClock())) return 0;
  process.stderr.write("There is no key with this id; key list shows the ids\n");
  return 1;
}
