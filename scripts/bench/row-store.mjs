// The peer: a table with a row for each point, aggregated in SQL, behind node:http. Same requests, same answers; FILE is its database.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { DatabaseSync } from "@photostructure/sqlite";

const UNIT_MS = { h: 3_600_000, d: 86_400_000 };

const db = new DatabaseSync(process.argv[2]);
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
db.exec(
  "CREATE TABLE points (dimension TEXT, id TEXT, type TEXT, ts INTEGER, value REAL, PRIMARY KEY (dimension, id, type, ts)) WITHOUT ROWID",
);
const insert = db.prepare("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)");
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
  const asked = req.method === "GET" ? Object.fromEntries(url.searchParams) : JSON.parse(Buffer.concat(chunks));
  const data = url.pathname === "/api/metric/points" ? write(asked) : [asked].flat().map(read);
  const body = JSON.stringify({ status: 200, message: "success", data });
  const tag = `"${createHash("sha1").update(body).digest("base64url")}"`;
  const same = req.method === "GET" && req.headers["if-none-match"] === tag;
  res.writeHead(same ? 304 : 200, { "Content-Type": "application/json", ETag: tag });
  res.end(same ? undefined : body);
});
server.listen(0, "127.0.0.1", () => process.send({ listens: `http://127.0.0.1:${server.address().port}` }));
process.once("disconnect", () => process.exit(0));
process.once("SIGTERM", () => process.exit(0));

function write({ series, ts, values }) {
  let count = 0;
  db.exec("BEGIN IMMEDIATE");
  for (const [i, { dimension, dimension_id, dimension_type }] of series.entries()) {
    for (const [j, value] of values[i].entries()) {
      if (value === null) continue;
      insert.run(dimension, dimension_id, dimension_type, ts[j], value);
      count += 1;
    }
  }
  db.exec("COMMIT");
  return { point_count: count };
}

/** One item of an answer. The step is a BigInt, since a number would be bound as REAL, and `/` would not cut. */
function read({ dimension, dimension_id, dimension_type, startdate, enddate, interval, aggregation }) {
  const step = Number(interval.slice(0, -1)) * UNIT_MS[interval.at(-1)];
  const [from, to] = [Number(startdate), Number(enddate)];
  const now = Date.now();
  return {
    name: `${dimension}.${dimension_id}.${dimension_type}`,
    dimension,
    dimension_id,
    dimension_type,
    range: `${(to - from) / UNIT_MS.d}d`,
    aggregation,
    interval,
    is_cached: false,
    complete_until: String(now - (now % UNIT_MS.h)),
    next_save_at: String(now - (now % UNIT_MS.h) + UNIT_MS.h),
    values: select[aggregation].all(BigInt(step), dimension, dimension_id, dimension_type, from, to),
  };
}
