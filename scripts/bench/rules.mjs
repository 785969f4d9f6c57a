// Measures what segments by rule cost: a message and the walk by the number of rules.
import { sendAll, sendFor, settledCost } from "./load.mjs";
import { quantile } from "./quantile.mjs";
import { measureDue } from "./rules-due.mjs";
import { measureDuringWalk } from "./rules-load.mjs";
import { costUnit } from "./server.mjs";
import { line } from "./table.mjs";

const MESSAGES = 500;
const SENDERS = 2;
/** Maximum number of rounds, and minimum of people in each. */
const ROUNDS = 5;
const ROUND_PEOPLE = 2_000;
/** The promise about the walk, µs of CPU a profile. */
const WALK_US = 100;

/** Numbers of rules, and the share of the segments that each person is in. */
const CASES = [
  { name: "no rules", rules: 0 },
  { name: "20 rules, people in few segments", rules: 20, isMember: inFew },
  { name: "200 rules, people in few segments", rules: 200, isMember: inFew },
  { name: "20 rules, people in two thirds", rules: 20, isMember: inTwoThirds },
  { name: "200 rules, people in two thirds", rules: 200, isMember: inTwoThirds },
];

/** Returns the lines of the result about rules. */
export async function measureRules(session) {
  const { key, people, say } = session;
  const cases = [];
  for (const { name, rules, isMember } of CASES) {
    const service = await session.service(`rules: ${name}`);
    for (let n = 0; n < rules; n += 1) await putRule(service, n, isMember(n), key);
    await sendAll(
      service,
      messages(MESSAGES, (n) => personOf("early", n)),
      key,
    );
    cases.push({ name, rules, isMember, service, fresh: [], known: [], walk: [] });
  }

  const rounds = Math.min(ROUNDS, Math.ceil(people / ROUND_PEOPLE));
  const round = Math.ceil(people / rounds);
  for (let turn = 0; turn < rounds; turn += 1) {
    say(`rules: collect, round ${turn + 1} of ${rounds}`);
    for (const { service, fresh, known } of cases) {
      const name = `person-${turn}`;
      fresh.push(
        await costOf(
          service,
          messages(round, (n) => personOf(name, n)),
          round,
          key,
        ),
      );
      known.push(
        await costOf(
          service,
          messages(round, (n) => ({ _uid: `${name}-${n}`, visits: n % 50 })),
          round,
          key,
        ),
      );
    }
  }
  const ruled = cases.filter(({ rules }) => rules > 0);
  for (let turn = 0; turn < rounds; turn += 1) {
    say(`rules: the walk, round ${turn + 1} of ${rounds}`);
    for (const { service, isMember, walk } of ruled) walk.push(await costOfWalk(service, isMember(0), turn, key));
  }
  await session.stop(...cases.map(({ service }) => service));

  const [none] = cases;
  const median = (values) => quantile(values, 0.5);
  return [
    ...["fresh", "known"].flatMap((kind) =>
      ruled.map((one) => {
        const what = `collect, ${kind === "fresh" ? "new" : "known"} profiles, ${one.name}`;
        return line(what, costUnit, median(one[kind]), none.name, median(none[kind]));
      }),
    ),
    ...ruled.map(({ name, walk }) =>
      line(
        `walk, ${name}`,
        "CPU µs a profile",
        (median(walk) / (round * rounds + MESSAGES)) * 1000,
        "promised",
        WALK_US,
      ),
    ),
    ...(await measureDuringWalk(session)),
    ...(await measureDue(session)),
  ];
}

async function costOf(service, requests, count, key) {
  const before = await settledCost(service);
  await sendAll(service, requests, key, { count: SENDERS });
  return ((await settledCost(service)) - before) / count;
}

/** Changes a rule so that every profile is decided again, and returns the cost of all decisions. */
async function costOfWalk(service, membership, turn, key) {
  const before = await settledCost(service);
  await putRule(service, 0, membership, key, turn + 1);
  await untilComputed(service, 0, key);
  return (await settledCost(service)) - before;
}

/** Each person is in one of a hundred segments. */
function inFew(n) {
  return { attribute: "group", is: n % 100 };
}

function inTwoThirds(n) {
  return { not: { attribute: "third", is: n % 3 } };
}

/** Makes or changes a rule of five conditions, of which one decides; `version` has no effect on its result. */
export function putRule(service, n, membership, key, version = 0) {
  const rule = {
    all: [
      { attribute: "visits", at_least: -version },
      { stream: "bench", last: { after: "now-30d" } },
      membership,
      { not: { attribute: "email", ends_with: "@acme.com" } },
      { any: [{ attribute: "city", is: ["Lisbon", "Oslo", "Vienna"] }] },
    ],
  };
  const body = JSON.stringify({ name: `Rule ${n}`, table: "user", rule });
  return sendFor(200, service, { method: "PUT", path: `/api/segment/rule-${n}`, body }, key);
}

/** Resolves when the walk has decided every profile by a rule. */
export async function untilComputed(service, n, key) {
  for (;;) {
    const { body } = await sendFor(200, service, { method: "GET", path: `/api/segment/rule-${n}` }, key);
    if (JSON.parse(body).data.computing === null) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Yields requests with the messages below `count`, each generated on demand. */
export function* messages(count, messageOf) {
  for (let from = 0; from < count; from += MESSAGES) {
    const some = Array.from({ length: Math.min(MESSAGES, count - from) }, (_, i) => messageOf(from + i));
    yield { method: "POST", path: "/collect/json/bench", body: JSON.stringify(some) };
  }
}

export function personOf(name, n) {
  return {
    _uid: `${name}-${n}`,
    email: `${name}-${n}@example.com`,
    city: ["Lisbon", "Oslo", "Vienna"][n % 3],
    visits: n % 40,
    group: n % 100,
    third: n % 3,
    segments: ["all", `part-${n % 5}`],
  };
}
