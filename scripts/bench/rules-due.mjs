// Measures many people whose segment changes within a short time, without a message.
import { join } from "node:path";
import { root } from "../set-up.mjs";
import { sendAll, sendFor } from "./load.mjs";
import { messages, personOf } from "./rules.mjs";
import { line } from "./table.mjs";

/** People due per minute. */
const PER_MINUTE = 100_000;
/** The promises: seconds after the instant, and the longest time without the network. */
const DECIDED_S = 120;
const STALL_MS = 20;

/** Returns the lines about people who leave a segment by time. */
export async function measureDue(session) {
  const { key, due, say } = session;
  const service = await session.service("rules: due", {
    NODE_OPTIONS: `--import=${join(root, "scripts/bench/stalls.mjs")}`,
  });
  const rule = { attribute: "ends", after: "now" };
  const body = JSON.stringify({ name: "Due", table: "user", rule });
  await sendFor(200, service, { method: "PUT", path: "/api/segment/due", body }, key);
  say(`rules: ${due} people who are due`);
  const { seconds } = await sendAll(
    service,
    messages(due, (n) => personOf("person", n)),
    key,
  );
  const spreadMs = (due / PER_MINUTE) * 60_000;
  const first = Date.now() + 2_000 * seconds + 5_000;
  const ends = (n) => new Date(first + Math.floor((n / due) * spreadMs)).toISOString();
  await sendAll(
    service,
    messages(due, (n) => ({ _uid: `person-${n}`, ends: ends(n) })),
    key,
  );
  if (Date.now() > first || (await sizeOf(service, key)) !== due)
    throw new Error("people were due before they were told");
  await service.stall();
  const last = first + spreadMs;
  await new Promise((resolve) => setTimeout(resolve, last - Date.now()));
  while ((await sizeOf(service, key)) > 0) {
    if (Date.now() > last + 10 * DECIDED_S * 1_000) throw new Error("people who are due are not decided");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const decidedS = (Date.now() - last) / 1_000;
  const stallMs = await service.stall();
  await session.stop(service);
  const what = `${due.toLocaleString("en")} due in ${Math.round(spreadMs / 1_000)} s`;
  return [
    line(`${what}, all decided after`, "s", decidedS, "promised", DECIDED_S),
    line(`${what}, longest stall`, "ms", stallMs, "promised", STALL_MS),
  ];
}

async function sizeOf(service, key) {
  const { body } = await sendFor(200, service, { method: "GET", path: "/api/segment/sizes?ids=due" }, key);
  return JSON.parse(body).data[0].size;
}
