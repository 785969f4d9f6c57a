import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { findOnServers } from "../../support/server-bytes.js";
import { until } from "../../support/until.js";
import { segmentIds } from "./people.js";
import { plannedHistory } from "./plan.js";
import { ProcessPair } from "./process-pair.js";
import { SharedHistory, STREAM } from "./run.js";
import { openDatabases } from "./what-is-left.js";

const PEOPLE = 40;
const HOUR = 3_600_000;
/** Turns after which every identity is read. */
const READS_ALL = 25;

/** Counts of one history. */
export interface HistoryCounts {
  readonly kills: number;
  readonly deletions: number;
}

/**
 * Runs a random history through two processes that share the servers, and checks every response; then erases every
 * identity and searches all data. The same seed makes the same requests, as far as responses do not decide on them.
 */
export async function checkSharedHistory(seed: number, steps: number): Promise<HistoryCounts> {
  const canary = `canary${randomBytes(8).toString("hex")}`;
  const pair = await ProcessPair.start();
  const history = new SharedHistory(pair, canary, PEOPLE);
  const { name } = pair.set;
  const databases = await openDatabases(name);
  try {
    for (const [index, turn] of plannedHistory(seed, steps, PEOPLE).entries()) {
      await history.take(turn, index % READS_ALL === 0);
    }
    await history.comeToRest();
    await history.eraseAll();

    const ids = await databases.idsInLedger();
    expect(ids.size).to.be.above(PEOPLE);
    expect(await databases.naming(ids)).to.deep.equal([]);
    expect(await databases.withBinaries()).to.deep.equal([]);

    const texts = [canary, Buffer.from(canary).toString("hex"), Buffer.from(canary).toString("base64").slice(0, -4)];
    expect(await databases.containing(texts)).to.deep.equal([]);
    const needles = texts.map((text) => Buffer.from(text));
    expect(await findOnServers(name, needles)).to.deep.equal([]);
    expect(pair.logs.filter((log) => texts.some((text) => log().includes(text)))).to.have.length(0);
    for (const through of [0, 1]) expect(await sizesThrough(history, through)).to.deep.equal([]);

    const { oldSlot } = history;
    const old = await databases.countMessages(STREAM, oldSlot, oldSlot + HOUR);
    const { least, most } = history.model.count("old");
    expect(old).to.be.within(least, most);
    await until("the recorder has saved the count", async () => (await savedCount(history, 0)) === old, 30_000);
    expect(await savedCount(history, 1)).to.equal(old);
    const recent = history.model.count("recent");
    const counted = await databases.countMessages(STREAM, oldSlot + HOUR, Number.MAX_SAFE_INTEGER);
    expect(counted).to.be.within(recent.least, recent.most);
    return { kills: pair.kills, deletions: history.deletions.size };
  } catch (error) {
    throw new Error(`HISTORY_SEED=${seed} makes this history again: ${(error as Error).message}`, { cause: error });
  } finally {
    await databases.close();
    await pair.set.close();
  }
}

/** Segments that still have members. */
async function sizesThrough(history: SharedHistory, through: number): Promise<object[]> {
  const answer = await history.pair.service(through).fetch(`/api/segment/sizes?ids=${segmentIds.join(",")}`);
  const { data } = (await answer.json()) as { data: { id: string; size: number }[] };
  expect(data.map(({ id }) => id).sort()).to.deep.equal(segmentIds);
  return data.filter(({ size }) => size !== 0);
}

/** The count of the old slot in the metrics. */
async function savedCount(history: SharedHistory, through: number): Promise<number | undefined> {
  const { oldSlot } = history;
  const names = `dimension=stream&dimension_id=${STREAM}&dimension_type=size&interval=1h`;
  const path = `/api/metric?${names}&startdate=${oldSlot}&enddate=${oldSlot + HOUR}`;
  const { data } = (await (await history.pair.service(through).fetch(path)).json()) as {
    data: [{ values: { value: number }[] }];
  };
  return data[0].values[0]?.value;
}
