import { join } from "node:path";
import { expect } from "chai";
import { enforceRetention } from "../../src/entities/retention.js";
import { openLog } from "../../src/log.js";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";
import { commitOf, messageFor, newEntityId } from "../support/commits.js";
import { type OpenStores, openTemporaryStores } from "../support/stores.js";
import { until } from "../support/until.js";

const DAY_MS = 24 * 3_600_000;

describe("the maintenance of the history", () => {
  let open: OpenStores;
  beforeEach(async () => {
    open = await openTemporaryStores();
  });

  const requests = () => {
    const db = new DatabaseSync(join(open.dir, "entities.db"));
    const rows = db.prepare("SELECT id FROM idempotent_request ORDER BY id").all() as { id: string }[];
    db.close();
    return rows.map(({ id }) => id);
  };

  it("removes requests that can no longer be repeated, also without a retention of messages", async () => {
    const { history, idempotency, catalogue } = open.stores;
    for (const [id, arrival] of [
      ["later", DAY_MS],
      ["old", 1_000],
    ] as const) {
      await idempotency.begin({ id, arrival, digest: "", tally: "" });
    }
    const now = DAY_MS + 1_000;
    const maintenance = enforceRetention({
      history,
      idempotency: [idempotency],
      catalogue,
      arrivalClock: () => now,
      retentionMs: undefined,
      log: openLog("silent"),
    });
    await maintenance.stop();
    expect(requests()).to.deep.equal(["later"]);
  });

  it("removes old messages in parts, and stops between two parts", async () => {
    const { history, idempotency, catalogue, entities } = open.stores;
    const entity = newEntityId();
    const messages = Array.from({ length: 2_500 }, (_, position) => messageFor(entity, { arrival: 1_000, position }));
    expect(await entities.commit(commitOf([], { messages }))).to.equal(true);
    const maintain = () =>
      enforceRetention({
        history,
        idempotency: [idempotency],
        catalogue,
        arrivalClock: () => DAY_MS,
        retentionMs: 1,
        log: openLog("silent"),
      });
    await maintain().stop();
    expect([...(await history.countByStream([entity])).values()]).to.deep.equal([1_500]);
    const maintenance = maintain();
    await until("all messages are removed", async () => !(await history.holds([entity])));
    await maintenance.stop();
  });

  it("removes old requests and void memberships also if messages cannot be removed", async () => {
    const { idempotency } = open.stores;
    await idempotency.begin({ id: "old", arrival: 1_000, digest: "", tally: "" });
    let ended = 0;
    const maintenance = enforceRetention({
      history: { expire: () => Promise.reject(new Error("The removal takes too long")) },
      idempotency: [idempotency],
      catalogue: {
        async endMemberships() {
          ended += 1;
          return false;
        },
      },
      arrivalClock: () => DAY_MS + 1_000,
      retentionMs: 1,
      log: openLog("silent"),
    });
    await maintenance.stop();
    expect(requests()).to.deep.equal([]);
    expect(ended).to.equal(1);
  });
});
