// Measures writes of points against a table with one row per point, which takes the same bodies.
import { sendAll, sendFor, settledCost } from "./load.mjs";
import { costUnit } from "./server.mjs";
import { arrivals, blocks, filledTime, HOUR, nameOf } from "./synthetic-points.mjs";
import { line } from "./table.mjs";
import { windowWorkload } from "./workloads.mjs";

const POINTS = 5_000;
const BULK_POINTS = 10_000;
const CONNECTIONS = 2;
/** Maximum days of hourly points in order of arrival, and maximum points of one format. */
const STEADY_DAYS = 14;
const MOST_STEADY = 200_000;

const JSON_TYPE = { "Content-Type": "application/json" };

/** Formats of points in order of arrival: the request for a batch. */
const FORMS = {
  blocks: (batch, name) => ({
    path: "/api/metric/points",
    headers: JSON_TYPE,
    body: blockOf(batch, name),
  }),
  "flat JSON": (batch, name) => ({
    path: "/api/metric/points",
    headers: JSON_TYPE,
    body: JSON.stringify(batch.map(({ series, ts, value }) => ({ ...nameOf(series, name), ts, value }))),
  }),
  "line protocol": (batch, name) => ({
    path: "/api/v2/write?precision=ms",
    headers: { "Content-Type": "text/plain" },
    body: batch
      .map(({ series, ts, value }) => `stream,dimension_id=${name}-${series},dimension_type=size value=${value} ${ts}`)
      .join("\n"),
  }),
};

/** Returns the lines about writes. */
export async function measureWrites(session) {
  const { seriesCount, days, say } = session;
  const filled = filledTime(days, Date.now());
  const service = await session.service("writes");
  const rows = await session.rows("writes");
  const lines = [];

  const compare = async (label, requests) => {
    say(label);
    const [ofService, ofRows] = [
      await costOfWrites(session, service, requests),
      await costOfWrites(session, rows, requests),
    ];
    lines.push(
      line(label, "points/s", ofService.rate, "rows in SQLite", ofRows.rate, { more: true }),
      line(`${label}, a thousand points`, costUnit, ofService.cost, "rows in SQLite", ofRows.cost),
    );
  };

  const weeks = [...blocks({ end: seriesCount, ...filled, most: BULK_POINTS, hours: 168, prefix: "bulk" })];
  await compare(
    "bulk, blocks of a week",
    weeks.map(({ body, points }) => ({ method: "POST", path: "/api/metric/points", body, points })),
  );
  const hours = Math.min(Math.min(days, STEADY_DAYS) * 24, Math.ceil(MOST_STEADY / seriesCount));
  const steady = { end: seriesCount, from: filled.to - hours * HOUR, to: filled.to, size: POINTS };
  for (const [name, requestOf] of Object.entries(FORMS)) {
    const prefix = prefixOf(name);
    const requests = Array.from(arrivals(steady), (batch) => ({
      method: "POST",
      ...requestOf(batch, prefix),
      points: batch.length,
    }));
    await compare(`steady, ${name}`, requests);
  }
  for (const name of Object.keys(FORMS)) {
    const last = { from: steady.from, to: steady.to, hours: 1, aggregation: "sum" };
    const written = windowWorkload(last, { series: Math.min(seriesCount, 5), prefix: prefixOf(name) });
    for (const server of [service, rows]) {
      session.checked += written.check((await sendFor(200, server, written.request, session.key)).body);
    }
  }
  await session.stop(service, rows);
  return lines;
}

/**
 * Measures points per second and ms per thousand points, including background work. The first quarter of the requests
 * is the warm-up.
 */
async function costOfWrites({ key }, server, requests) {
  const status = requests[0].path.startsWith("/api/v2/") ? 204 : 200;
  const early = Math.floor(requests.length / 4);
  await sendAll(server, requests.slice(0, early), key, { count: CONNECTIONS, status });
  const measured = requests.slice(early);
  const before = await settledCost(server);
  const { seconds } = await sendAll(server, measured, key, { count: CONNECTIONS, status });
  const cost = (await settledCost(server)) - before;
  const points = measured.reduce((sum, one) => sum + one.points, 0);
  return { rate: points / seconds, cost: (cost / points) * 1000 };
}

/** Returns the prefix of the ids of the series of a format. */
function prefixOf(form) {
  return form.replace(" ", "-");
}

/** Returns one block of the points, with null where a series has none. */
export function blockOf(batch, name) {
  const indexes = [...new Set(batch.map(({ series }) => series))];
  const ts = [...new Set(batch.map((point) => point.ts))];
  const values = new Map(batch.map(({ series, ts: at, value }) => [`${series} ${at}`, value]));
  return JSON.stringify({
    series: indexes.map((series) => nameOf(series, name)),
    ts,
    values: indexes.map((series) => ts.map((at) => values.get(`${series} ${at}`) ?? null)),
  });
}
