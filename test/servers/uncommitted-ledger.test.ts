import { expect } from "chai";
import { MongoClient } from "mongodb";
import { systemClock } from "../../src/clock.js";
import type { Deletion } from "../../src/deletions/deletion.js";
import type { Ledger, ListedState } from "../../src/deletions/ports.js";
import { openLog } from "../../src/log.js";
import { openMongo } from "../../src/stores/mongodb/index.js";
import type { EntityEngine } from "../../src/stores/stores.js";
import { noScope, someDeletion } from "../contracts/ledger.contract.js";
import { onServers, ownName, testPepper } from "../support/servers.js";
import { settingsFor } from "../support/service.js";
import { until } from "../support/until.js";
import { type MongoSet, startMongoSet } from "./primary-changes/mongo-set.js";

const DEADLINE_MS = 6_000;

onServers(["mongod"], "the ledger while its writes reach only the primary", function () {
  this.timeout(240_000);
  let set: MongoSet;
  const name = ownName();
  let client: MongoClient;
  const engines: EntityEngine[] = [];
  before(async () => {
    set = await startMongoSet();
    const settings = settingsFor("unused", {
      entities: { url: set.url(name) },
      pepper: testPepper,
      limits: { store_deadline_ms: DEADLINE_MS },
    });
    const open = () => openMongo({ settings, log: openLog("silent"), clock: systemClock });
    for (let process = 0; process < 2; process += 1) engines.push(await open());
    client = new MongoClient(set.url(name));
  });
  after(async () => {
    for (const engine of engines) await engine.close();
    await client.close();
    await set.close();
  });

  it("returns nothing to another process that a change of primary undoes (P34)", async () => {
    const [one, two] = engines.map(({ ledger }) => ledger) as [Ledger, Ledger];
    const [old, fresh] = [someDeletion("a"), someDeletion("b")];
    await one.accept(old, noScope);
    const primary = await set.primary();
    const others = set.members.filter((member) => member !== primary);
    await Promise.all(others.map((other) => other.replicates(false)));
    const writes = Promise.allSettled([one.complete(old.requestId, 2000, {}), one.accept(fresh, noScope)]);
    const stored = client.db(`${name}_ledger`).collection<{ _id: string; open: boolean }>("deletions");
    await until("the primary has both writes", async () => {
      const states = (await stored.find().toArray()).map(({ open }) => open);
      return states.includes(false) && states.length === 2;
    });

    const isTakenBack = ({ requestId, completedAt }: Deletion) =>
      requestId === fresh.requestId || completedAt !== undefined;
    const list = async (state: ListedState) =>
      (await two.list({ state, newestFirst: true, limit: 9 })).some(isTakenBack);
    const takenBack: Record<string, () => Promise<boolean>> = {
      "a completed request": async () => (await two.find(old.requestId))?.completedAt !== undefined,
      "a request": async () => (await two.find(fresh.requestId)) !== undefined,
      "the repeat of a request": () => two.accept(fresh, noScope),
      "a list of completed ones": () => list("completed"),
      "a list of all": () => list("all"),
      "a count": async () => (await two.count("completed")) > 0,
      "a cut-off": async () => (await engines[1]?.suppression.cutOffs(fresh.hashes))?.size !== 0,
      "the replay": async () => (await two.since(0, 9)).some(({ deletion }) => isTakenBack(deletion)),
    };
    const answered = await Promise.all(
      Object.entries(takenBack).map(async ([what, read]) => ((await read().catch(() => false)) ? [what] : [])),
    );
    await primary.kill();
    await Promise.all(others.map((other) => other.replicates(true)));
    await writes;
    expect(answered.flat()).to.deep.equal([]);
    const found = () => two.find(old.requestId).catch(() => undefined);
    await until("the next primary has the request", async () => (await found()) !== undefined, 60_000);
  });
});
