// The store that the service is compared with: one row per point, message or deletion, behind node:http. It takes the
// same requests and gives the same answers about series; FILE is its database.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { DatabaseSync } from "@photostructure/sqlite";

const UNIT_MS = { h: 3_600_000, d: 86_400_000 };

const db = new DatabaseSync(process.argv[2]);
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
db.exec(`
  CREATE TABLE IF NOT EXISTS points (dimension TEXT, id TEXT, type TEXT, ts INTEGER, value REAL, PRIMARY KEY (dimension, id, type, ts)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, stream TEXT NOT NULL, entity TEXT NOT NULL, time REAL NOT NULL, body TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS message_entity ON messages (entity, time);
  CREATE TABLE IF NOT EXISTS deletions (id INTEGER PRIMARY KEY, path TEXT NOT NULL, time REAL NOT NULL);`);
const insert = db.prepare("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)");
const insertMessage = db.prepare("INSERT INTO messages (stream, entity, time, body) VALUES (?, ?, ?, ?)");
const insertDeletion = db.prepare("INSERT INTO deletions (path, time) VALUES (?, ?)");
const select = Object.fromEntries(
  ["sum", "max", "min"].map((aggregation) => [
    aggregation,
    db.prepare(
      `SELECT ${aggregation}(value) AS value, CAST(ts / ?1 * ?1 AS TEXT) AS ts FROM points
       WHERE dimension = ?2 AND id = ?3 AND type = ?4 AND ts >= ?5 AND ts < ?6 GROUP BY ts / ?1`,
    ),
  ]),
);

const server = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const url = new URL(req.url, "http://localhost");
  const text = Buffer.concat(chunks).toString();
  if (url.pathname === "/api/v2/write") {
    writeLines(text);
    res.writeHead(204).end();
    return;
  }
  const data = req.method === "DELETE" ? await recordDeletion(url.pathname) : answerTo(req, url, text);
  const body = JSON.stringify({ status: 200, message: "success", data });
  const tag = `"${createHash("sha1").update(body).digest("base64url")}"`;
  const same = req.method === "GET" && req.headers["if-none-match"] === tag;
  res.writeHead(same ? 304 : 200, { "Content-Type": "application/json", ETag: tag });
  res.end(same ? undefined : body);
});
// Never close idle connections: a request could be on its way over one of them.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => process.send({ listens: `http://127.0.0.1:${server.address().port}` }));
process.once("disconnect", () => process.exit(0));
process.once("SIGTERM", () => process.exit(0));

function answerTo(req, url, text) {
  if (req.method === "GET") return [Object.fromEntries(url.searchParams)].map(read);
  const asked = JSON.parse(text);
  if (url.pathname.startsWith("/collect/")) return collect(asked);
  if (url.pathname !== "/api/metric/points") return [asked].flat().map(read);
  return Array.isArray(asked) ? writePoints(asked) : writeBlock(asked);
}

/** Runs the work in one transaction. */
function inTransaction(work) {
  db.exec("BEGIN IMMEDIATE");
  const result = work();
  db.exec("COMMIT");
  return result;
}

function writeBlock({ series, ts, values }) {
  let count = 0;
  inTransaction(() => {
    for (const [i, { dimension, dimension_id, dimension_type }] of series.entries()) {
      for (const [j, value] of values[i].entries()) {
        if (value === null) continue;
        insert.run(dimension, dimension_id, dimension_type, ts[j], value);
        count += 1;
      }
    }
  });
  return { point_count: count };
}

function writePoints(points) {
  inTransaction(() => {
    for (const { dimension, dimension_id, dimension_type, ts, value } of points) {
      insert.run(dimension, dimension_id, dimension_type, ts, value);
    }
  });
  return { point_count: points.length };
}

/** Stores line protocol as the benchmark writes it, without escapes. */
function writeLines(text) {
  inTransaction(() => {
    for (const line of text.split("\n")) {
      const [name, field, ts] = line.split(" ");
      const [dimension, id, type] = name.split(",").map((part) => part.slice(part.indexOf("=") + 1));
      insert.run(dimension, id, type, Number(ts), Number(field.slice("value=".length)));
    }
  });
}

/** Stores each message as a row, without processing it. */
function collect(messages) {
  const now = Date.now();
  inTransaction(() => {
    for (const message of messages) insertMessage.run("bench", message._uid, now, JSON.stringify(message));
  });
  return { message_count: messages.length };
}

/** Deletions that wait for their shared commit. */
let waiting = [];

/** Inserts one row. Deletions of one round of the event loop share a commit. */
function recordDeletion(path) {
  if (waiting.length === 0) setImmediate(commitDeletions);
  return new Promise((resolve) => {
    waiting.push({ path, resolve });
  });
}

function commitDeletions() {
  const group = waiting;
  waiting = [];
  const now = Date.now();
  inTransaction(() => {
    for (const { path } of group) insertDeletion.run(path, now);
  });
  for (const { resolve } of group) resolve({ completed: false });
}

/**
 * Returns one item of a response. The step is a BigInt: a number would be bound as REAL, and `/` would not truncate.
 */
function read({ dimension, dimension_id, dimension_type, range, startdate, enddate, interval, aggregation }) {
  const step = msOf(interval);
  const now = Date.now();
  const to = range === undefined ? Number(enddate) : now;
  const from = range === undefined ? Number(startdate) : Math.floor((now - msOf(range)) / step) * step;
  return {
    name: `${dimension}.${dimension_id}.${dimension_type}`,
    dimension,
    dimension_id,
    dimension_type,
    range: range ?? `${(to - from) / UNIT_MS.d}d`,
    aggregation,
    interval,
    is_cached: false,
    complete_until: String(now - (now % UNIT_MS.h)),
    next_save_at: String(now - (now % UNIT_MS.h) + UNIT_MS.h),
    values: select[aggregation].all(BigInt(step), dimension, dimension_id, dimension_type, from, to),
  };
}

function msOf(length) {
  return Number(length.slice(0, -1)) * UNIT_MS[length.at(-1)];
}
