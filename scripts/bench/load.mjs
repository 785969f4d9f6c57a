// The load: requests over connections that are kept, and what each of them costs the server.
import { Agent, request as httpRequest } from "node:http";

/** Connections where nothing else is said. */
const FEW = 4;
const agents = new Map();

/** Connections to whichever server is asked, `count` to each. */
export function connections(count) {
  const agent = agents.get(count) ?? new Agent({ keepAlive: true, maxSockets: count });
  agents.set(count, agent);
  return agent;
}

/** Closes the connections that are idle: the next request opens its own. */
export function closeIdle() {
  for (const agent of agents.values()) agent.destroy();
  agents.clear();
}

/** Sends one request and resolves with `{ status, headers, body }`. */
export function send({ address }, { method, path, body, headers = {}, agent = connections(FEW) }, key) {
  const length =
    body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  const options = { agent, method, path, headers: { Authorization: key, ...length, ...headers } };
  return new Promise((resolve, reject) => {
    const sent = httpRequest(address, options, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.once("error", reject);
      answer.once("end", () =>
        resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

/** Sends one request that has to be answered with `status`. */
export async function sendFor(status, server, request, key) {
  const answer = await send(server, request, key);
  if (answer.status === status) return answer;
  throw new Error(`${request.method} was answered ${answer.status}: ${answer.body.subarray(0, 300)}`);
}

/** Sends each of the requests once, over so many connections; resolves with what it cost: `{ count, cost, seconds }`. */
export async function sendAll(server, requests, key, { count = FEW, status = 200, each = () => {} } = {}) {
  const agent = connections(count);
  const before = server.cost();
  const begun = performance.now();
  const source = requests[Symbol.iterator]();
  let sent = 0;
  const connection = async () => {
    for (let next = source.next(); !next.done; next = source.next()) {
      sent += 1;
      each(next.value, await sendFor(status, server, { ...next.value, agent }, key));
    }
  };
  await Promise.all(Array.from({ length: count }, connection));
  return { count: sent, cost: server.cost() - before, seconds: (performance.now() - begun) / 1000 };
}

/**
 * Repeats the requests in turn for `secs` seconds over so many connections, after a fifth of that to warm up; resolves with ms a request.
 */
export async function measure(server, { request, requests = [request], status = 200 }, key, secs, count = FEW) {
  const repeat = (ms) => {
    const end = performance.now() + ms;
    return sendAll(server, untilEnd(requests, end, count), key, { count, status });
  };
  await repeat(secs * 200);
  const { count: answered, cost } = await repeat(secs * 1000);
  return cost / answered;
}

/** The requests, one after the other and again, until the time is over; each connection gets one at least. */
function* untilEnd(requests, end, least) {
  for (let n = 0; n < least || performance.now() < end; n += 1) yield requests[n % requests.length];
}

/** Writes all blocks, one after the other; resolves with how many points there were. */
export async function writeBlocks(server, blocks, key) {
  let points = 0;
  for (const { body, points: some } of blocks) {
    await sendFor(200, server, { method: "POST", path: "/api/metric/points", body }, key);
    points += some;
  }
  return points;
}

/** What the server has cost once it has done what it does after its answers, ms: at most 20 s later. */
export async function settledCost(server) {
  for (let tries = 0, last = Number.NaN; tries < 80; tries += 1) {
    const cost = server.cost();
    // A process at rest takes a tick of the clock at most.
    if (cost - last <= 10) return cost;
    last = cost;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return server.cost();
}

/** Seconds that it takes to work through the numbers below `count`, `size` of them in a batch, two batches at a time. */
export async function inBatches(count, size, work) {
  const starts = Array.from({ length: Math.ceil(count / size) }, (_, at) => at * size);
  const begun = performance.now();
  await Promise.all(
    [0, 1].map(async () => {
      for (let from = starts.shift(); from !== undefined; from = starts.shift()) {
        const length = Math.min(size, count - from);
        await work(Array.from({ length }, (_, at) => from + at));
      }
    }),
  );
  return (performance.now() - begun) / 1000;
}
