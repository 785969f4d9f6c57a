// Measures profiles against plain rows in SQLite and against Koa alone.
import { measure, sendAll, sendFor, settledCost } from "./load.mjs";
import { costUnit } from "./server.mjs";
import { line } from "./table.mjs";

/** Messages per request. */
const MESSAGES = 500;
const SENDERS = 2;
const AT_ONCE = 64;
const MOST_DELETED = 2_000;
/** Number of identities that are read in turn. */
const READ = 500;

/** Returns the lines of the result about profiles. */
export async function measureEntities(session) {
  const { key, people, say } = session;
  const service = await session.service("entities");
  const rows = await session.rows("entities");
  const koa = await session.koa();
  const lines = [];

  const compare = async (label, requestsOf, count, atOnce) => {
    say(label);
    const results = [];
    for (const server of [service, rows]) {
      // Warm-up: code that has just been loaded is compiled first.
      await sendAll(server, requestsOf("early"), key, { count: atOnce });
      const before = await settledCost(server);
      const { seconds } = await sendAll(server, requestsOf("person"), key, { count: atOnce });
      results.push({ rate: count / seconds, cost: ((await settledCost(server)) - before) / count });
    }
    const [ofService, ofRows] = results;
    lines.push(
      line(label, "a second", ofService.rate, "rows in SQLite", ofRows.rate, { more: true }),
      line(label, costUnit, ofService.cost, "rows in SQLite", ofRows.cost),
    );
  };

  const collect = `collect, ${MESSAGES} messages a request`;
  await compare(`${collect}, new profiles`, (name) => messages(people, (n) => personOf(name, n)), people, SENDERS);
  const again = (name) => messages(people, (n) => ({ _uid: `${name}-${n}`, visits: n % 50 }));
  await compare(`${collect}, known profiles`, again, people, SENDERS);

  say("read by identity");
  lines.push(await readLine(session, service, koa, people));

  const deleted = Math.min(MOST_DELETED, Math.ceil(people / 4));
  const deletions = (name) => Array.from({ length: deleted }, (_, n) => ({ method: "DELETE", path: pathOf(name, n) }));
  await compare(`DELETE acknowledged, ${AT_ONCE} at once`, deletions, deleted, AT_ONCE);
  for (const { path } of deletions("person").slice(0, 10)) await sendFor(404, service, { method: "GET", path }, key);
  await session.stop(service, rows, koa);
  return lines;
}

/** Measures reads of profiles by identity against Koa with a body of the same size. */
async function readLine({ key, secs }, service, koa, people) {
  const count = Math.min(READ, people);
  const requests = Array.from({ length: count }, (_, i) => ({
    method: "GET",
    path: pathOf("person", Math.floor((i * people) / count)),
  }));
  let bytes = 0;
  await sendAll(service, requests, key, {
    each({ path }, { body }) {
      const { data } = JSON.parse(body);
      if (!path.endsWith(`/${data._uid}`)) throw new Error(`another profile was answered to ${path}`);
      bytes += body.length;
    },
  });
  const cost = await measure(service, { requests }, key, secs);
  const sized = { method: "GET", path: `/?size=${Math.round(bytes / count)}` };
  return line("read by identity", costUnit, cost, "Koa alone", await measure(koa, { request: sized }, key, secs));
}

function pathOf(name, n) {
  return `/api/entity/user/_uid/${name}-${n}`;
}

/** Yields requests with the messages below `count`, each generated on demand. */
function* messages(count, messageOf) {
  for (let from = 0; from < count; from += MESSAGES) {
    const some = Array.from({ length: Math.min(MESSAGES, count - from) }, (_, i) => messageOf(from + i));
    yield { method: "POST", path: "/collect/json/bench", body: JSON.stringify(some) };
  }
}

function personOf(name, n) {
  return {
    _uid: `${name}-${n}`,
    email: `${name}-${n}@example.com`,
    city: ["Lisbon", "Oslo", "Vienna"][n % 3],
    visits: n % 40,
    segments: ["all", `part-${n % 5}`],
  };
}
