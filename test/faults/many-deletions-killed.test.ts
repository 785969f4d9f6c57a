import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { processSet } from "../support/process-set.js";
import { type RealService, startReal } from "../support/real-service.js";
import { collectThrough, isCompleteIn, statusOfProfile } from "../support/requests.js";
import { onServers } from "../support/servers.js";
import { until } from "../support/until.js";

const PEOPLE = 600;
const KNOWN = 50;
/** Accepted requests before the process dies: some are stored and not answered. */
const ACCEPTED = 250;

const dying = { FAILPOINT: "deletion-accepted", FAILPOINT_AFTER: String(ACCEPTED) };
const items = Array.from({ length: PEOPLE }, (_, i) => `{"field":"user_id","value":"p${i}"}\n`).join("");

interface Line {
  readonly request_id?: string;
  readonly type?: string;
  readonly accepted?: number;
}

/** Requests the deletion of all people. Resolves with the lines that arrive before the response ends or breaks. */
async function request(service: RealService): Promise<Line[]> {
  const headers = { "idempotency-key": "once" };
  const init = { method: "POST", body: items, type: "application/x-ndjson", headers };
  let text = "";
  try {
    const { body } = await service.fetch("/api/deletion", init);
    for await (const bytes of body?.pipeThrough(new TextDecoderStream()) ?? []) text += bytes;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  return complete.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Line]));
}

/** Lets the first service die during a request, and repeats the request twice at the service of `next`. */
async function killAndRepeat(first: RealService, next: () => Promise<RealService>): Promise<void> {
  await collectThrough(
    first,
    Array.from({ length: KNOWN }, (_, i) => ({ user_id: `p${i}`, email: `p${i}@example.org` })),
  );
  const answered = await request(first);
  expect(await first.gone).to.equal("SIGKILL");
  expect(answered.length).to.be.within(1, PEOPLE - 1);

  const second = await next();
  const all = await request(second);
  expect(all.at(-1)).to.deep.equal({ type: "end", accepted: PEOPLE, rejected: 0 });
  const ids = all.slice(0, -1).map(({ request_id = "" }) => request_id);
  expect(new Set(ids).size).to.equal(PEOPLE);
  expect(answered.map(({ request_id }) => request_id)).to.deep.equal(ids.slice(0, answered.length));
  expect((await request(second)).slice(0, -1).map(({ request_id }) => request_id)).to.deep.equal(ids);
  expect(await statusOfProfile(second, "email/p7@example.org")).to.equal(404);
  for (const id of ids) await until("it is complete", () => isCompleteIn(second, id), 60_000);
  const list = await second.fetch("/api/deletion?state=all&limit=1");
  const { meta } = (await list.json()) as { meta: { total: number } };
  expect(meta.total).to.equal(PEOPLE);
}

describe("P1, P33: a request for many deletions whose process was killed", function () {
  this.timeout(120_000);

  it("returns the same request ids if it is repeated, and every deletion is completed once", async () => {
    const dir = dataFolder();
    const start = (environment: Record<string, string> = {}) => startReal(dir, { LOG_LEVEL: "warn", ...environment });
    await killAndRepeat(await start(dying), start);
  });
});

onServers(
  ["mongodb", "influxdb", "bullmq"],
  "P1, P33: a request for many deletions whose process was killed",
  function () {
    this.timeout(120_000);

    it("returns the same request ids if it is repeated at another process", async () => {
      const set = await processSet();
      const second = await set.start("api,worker");
      await killAndRepeat(await set.start("api", dying), async () => second);
    });
  },
);
