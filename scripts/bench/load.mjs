// The load: requests over persistent connections, and their cost to the server.
import { Agent, request as httpRequest } from "node:http";

/** Default number of connections. */
const FEW = 4;
const agents = new Map();

/** Returns the agent with at most `count` connections to each server. */
export function connections(count) {
  const agent = agents.get(count) ?? new Agent({ keepAlive: true, maxSockets: count });
  agents.set(count, agent);
  return agent;
}

/** Closes idle connections, so that the next request opens its own. */
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

/** Sends one request; rejects if the response has another status. */
export async function sendFor(status, server, request, key) {
  const answer = await send(server, request, key);
  if (answer.status === status) return answer;
  throw new Error(`${request.method} was answered ${answer.status}: ${answer.body.subarray(0, 300)}`);
}

/** Sends each request once, over `count` connections; resolves with `{ count, cost, seconds }`. */
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
 * Repeats the requests in turn for `secs` seconds over `count` connections, after a warm-up of a fifth of that time.
 * Resolves with ms per request.
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

/** Yields the requests in a cycle until `end`, but at least one for each connection. */
function* untilEnd(requests, end, least) {
  for (let n = 0; n < least || performance.now() < end; n += 1) yield requests[n % requests.length];
}

/** Writes all blocks, one after another; resolves with the number of points. */
export async function writeBlocks(server, blocks, key) {
  let points = 0;
  for (const { body, points: some } of blocks) {
    await sendFor(200, server, { method: "POST", path: "/api/metric/points", body }, key);
    points += some;
  }
  return points;
}

/** Resolves with the cost of the server, ms, when its background work has ended, after 20 s at most. */
export async function settledCost(server) {
  for (let tries = 0, last = Number.NaN; tries < 80; tries += 1) {
    const cost = server.cost();
    // An idle process takes one tick of the clock at most.
    if (cost - last <= 10) return cost;
    last = cost;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return server.cost();
}
