import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { type ProcessSet, processSet } from "../../support/process-set.js";
import type { RealService } from "../../support/real-service.js";
import { statusOf } from "../../support/requests.js";
import { until } from "../../support/until.js";
import { checkLoad } from "./check-load.js";
import type { MongoMember } from "./mongo-member.js";
import { type MongoSet, startMongoSet } from "./mongo-set.js";
import { HOUR, KINDS, type Known, type SteadyLoad, startLoad } from "./steady-load.js";

/** A fault of a primary, and its end. */
interface Change {
  readonly how: string;
  begin(primary: MongoMember, others: readonly MongoMember[]): Promise<void>;
  end(primary: MongoMember): Promise<void>;
  /** For how long at the least, ms. */
  readonly lastsMs: number;
}

const FROZEN_MS = 15_000;
/** Seconds for which writes reach only the primary before it is killed. */
const AHEAD_S = 1;
/** Maximum wait for them, ms. */
const AHEAD_WAIT_MS = 60_000;
/** A member that has stepped down is not elected for so long. */
const STEPPED_DOWN_S = 30;

const changes: readonly Change[] = [
  {
    how: "is killed before the others have its last writes, and started again",
    begin: killAhead,
    end: (member) => member.start(),
    lastsMs: 0,
  },
  { how: "steps down", begin: stepDown, end: async () => {}, lastsMs: 0 },
  {
    how: `is stopped for ${FROZEN_MS / 1000} s`,
    begin: async (member) => member.freeze(),
    end: async (member) => member.thaw(),
    lastsMs: FROZEN_MS,
  },
  {
    how: "is cut off from clients and the other members",
    begin: (member) => member.cutOff(),
    end: (member) => member.joinAgain(),
    lastsMs: 0,
  },
];

/** Writes after replication stopped are rolled back at the next start, so none of them may have been acknowledged. */
async function killAhead(member: MongoMember, others: readonly MongoMember[]): Promise<void> {
  await Promise.all(others.map((other) => other.replicates(false)));
  await until("the primary is ahead of the others", () => isAhead(member), AHEAD_WAIT_MS);
  await member.kill();
  await Promise.all(others.map((other) => other.replicates(true)));
}

async function isAhead(member: MongoMember): Promise<boolean> {
  const { lastWrite } = (await member.hello()) ?? {};
  if (lastWrite === undefined) return false;
  return lastWrite.opTime.ts.getHighBits() >= lastWrite.majorityOpTime.ts.getHighBits() + AHEAD_S;
}

async function stepDown(member: MongoMember): Promise<void> {
  await member.command({ replSetStepDown: STEPPED_DOWN_S, secondaryCatchUpPeriodSecs: 10, force: true });
}

/** Maximum time from a new primary until everything is served again, ms. */
const SERVED_AGAIN_MS = 30_000;

/** Two api processes and a worker over a replica set of three members whose primary changes `times` in each way. */
export function primaryChanges(times: number): void {
  let mongo: MongoSet;
  let processes: ProcessSet;
  let apis: [RealService, RealService];
  let worker: RealService;
  let load: SteadyLoad;
  const at = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;

  before(async () => {
    mongo = await startMongoSet();
    processes = await processSet({ ENTITIES_URL: mongo.url("entity_metrics") });
    [worker, ...apis] = await Promise.all([processes.start("worker"), processes.start("api"), processes.start("api")]);
    load = startLoad(apis, at);
    await isServed(load.known);
  });
  after(async () => {
    await load?.stop();
    await processes?.close();
    await mongo?.close();
  });

  for (const change of changes) {
    it(`serve or answer 503 while the primary ${change.how} (${times} ×), and serve all within ${SERVED_AGAIN_MS / 1000} s of an election`, async () => {
      for (let time = 0; time < times; time += 1) await goThrough(change);
      expect(load.known.wrong.splice(0).slice(0, 3).map(inWords)).to.deep.equal([]);
    });
  }

  it("keep all acknowledged writes, count every message once and complete every deletion", async () => {
    await load.stop();
    await checkLoad(apis, load.known, at);
    expect(load.known.wrong.slice(0, 3).map(inWords)).to.deep.equal([]);
    expect(await statusOf(worker, "/ready")).to.equal(200);
  });

  async function goThrough({ begin, end, lastsMs }: Change): Promise<void> {
    const old = await mongo.primary();
    const lasts = sleep(lastsMs);
    const others = mongo.members.filter((member) => member !== old);
    try {
      await begin(old, others);
      await mongo.primary(old);
      await isServed(load.known);
      await lasts;
    } finally {
      await end(old);
    }
    await mongo.whole();
    await isServed(load.known);
  }

  function inWords({ what, requestId }: Known["wrong"][number]): string {
    const logs = [...apis, worker].flatMap((process) => process.log().split("\n"));
    return [what, ...logs.filter((line) => requestId !== null && line.includes(requestId))].join("\n");
  }
}

/** Resolves when each process has served each kind of request once more. */
async function isServed({ served }: Known): Promise<void> {
  const names = KINDS.flatMap((kind) => [`${kind} 0`, `${kind} 1`]);
  const before = new Map(served);
  const missing = () => names.filter((name) => served.get(name) === before.get(name));
  await until("everything is served again", () => missing().length === 0, SERVED_AGAIN_MS).catch((error) => {
    throw new Error(`${error.message}: not ${missing().join(", ")}`);
  });
}
