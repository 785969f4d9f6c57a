// The load: requests over connections that are kept, and what each of them costs the server.
import { Agent, request as httpRequest } from "node:http";

const CONNECTIONS = 4;
const few = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/** Sends one request and resolves with `{ status, headers, body }`. */
export function send({ address }, { method, path, body, headers = {}, agent = few }, key) {
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

/** Repeats a request for `secs` seconds, after a fifth of that to warm up; resolves with ms a request. */
export async function measure(server, { request, status = 200 }, key, secs) {
  const repeat = async (ms) => {
    const end = performance.now() + ms;
    let count = 0;
    const connection = async () => {
      do {
        await sendFor(status, server, request, key);
        count += 1;
      } while (performance.now() < end);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, connection));
    return count;
  };
  await repeat(secs * 200);
  const before = server.cost();
  const count = await repeat(secs * 1000);
  return (server.cost() - before) / count;
}

/** Writes all blocks, one after the other; resolves with how many points there were, and ms for a thousand. */
export async function writeBlocks(server, blocks, key) {
  let points = 0;
  let cost = 0;
  let bytes = 0;
  for (const block of blocks) {
    const before = server.cost();
    await sendFor(200, server, { method: "POST", path: "/api/metric/points", body: block.body }, key);
    cost += server.cost() - before;
    points += block.points;
    bytes += Buffer.byteLength(block.body);
  }
  return { points, bytes, cost: (cost / points) * 1000 };
}
