import { expect } from "chai";
import type { ApiKey } from "../../../src/keys/api-key.js";
import type { EntityEngine } from "../../../src/stores/stores.js";
import { commitOf, messageFor } from "../../support/commits.js";
import { type LateRequests, openLateRequests } from "../../support/late-requests.js";
import { mongodbUrl, onServers } from "../../support/servers.js";
import { openTestEngine, type TestEngine } from "./engine.js";

/** The longest that the process with the late write may wait for MongoDB, ms. */
const DEADLINE_MS = 1_000;

/** Names of commands as they begin on the wire. */
const WRITES = ["update", "delete", "insert", "findAndModify"].map((name) => `\x02${name}\0`);
const COMMIT = ["commitTransaction\0"];

/** Steps on the document `id`. */
interface LateWrite {
  readonly what: string;
  readonly before?: (stores: EntityEngine, id: string) => Promise<unknown>;
  /** Its result remains unknown to its process. */
  readonly late: (stores: EntityEngine, id: string) => Promise<unknown>;
  /** Acknowledged to another process before the server executes the late write. */
  readonly newer: (stores: EntityEngine, id: string) => Promise<unknown>;
  readonly read: (stores: EntityEngine, id: string) => Promise<unknown>;
  readonly expected: unknown;
}

const segment = (id: string, name: string) => ({ id, name, table: "user" });
const experience = (id: string, name: string) => ({ id, name, audience: "a", goal: "b" });
const mark = (id: string, text: string) => ({ id, at: 1, text });
const storeMessage = async ({ entities }: EntityEngine, id: string, arrival: number) => {
  const { deletions } = await entities.find([], 0, []);
  const messages = [messageFor("entity", { id, arrival })];
  expect(await entities.commit(commitOf([], { messages, generation: deletions.newest }))).to.equal(true);
};
const apiKey = (id: string): ApiKey => ({
  id,
  name: "key",
  scopes: ["admin"],
  bounds: {},
  digest: "digest",
  createdAt: 1,
  revokedAt: undefined,
  lastUsedOn: undefined,
});

const changedSegment: LateWrite = {
  what: "change of a segment",
  late: ({ catalogue }, id) => catalogue.putSegment(segment(id, "late")),
  newer: ({ catalogue }, id) => catalogue.putSegment(segment(id, "newer")),
  read: async ({ catalogue }, id) => (await catalogue.segmentsById([id])).get(id)?.name,
  expected: "newer",
};

const lateWrites: readonly LateWrite[] = [
  changedSegment,
  {
    ...changedSegment,
    what: "new segment that was deleted",
    async newer({ catalogue }, id) {
      await catalogue.putSegment(segment(id, "newer"));
      await catalogue.deleteSegment(id, 1);
    },
    expected: undefined,
  },
  {
    ...changedSegment,
    what: "deletion of a segment that was put again",
    before: ({ catalogue }, id) => catalogue.putSegment(segment(id, "first")),
    late: ({ catalogue }, id) => catalogue.deleteSegment(id, 1),
    async newer({ catalogue }, id) {
      await catalogue.deleteSegment(id, 2);
      await catalogue.putSegment(segment(id, "newer"));
    },
  },
  {
    what: "change of an experience",
    late: ({ catalogue }, id) => catalogue.putExperience(experience(id, "late")),
    newer: ({ catalogue }, id) => catalogue.putExperience(experience(id, "newer")),
    read: async ({ catalogue }, id) => (await catalogue.experiencesById([id])).get(id)?.name,
    expected: "newer",
  },
  {
    what: "deletion of an experience that was put again",
    before: ({ catalogue }, id) => catalogue.putExperience(experience(id, "first")),
    late: ({ catalogue }, id) => catalogue.deleteExperience(id),
    async newer({ catalogue }, id) {
      await catalogue.deleteExperience(id);
      await catalogue.putExperience(experience(id, "newer"));
    },
    read: async ({ catalogue }, id) => (await catalogue.experiencesById([id])).get(id)?.name,
    expected: "newer",
  },
  {
    what: "change of a mark",
    before: ({ marks }, id) => marks.putMark(mark(id, "first"), 99),
    late: ({ marks }, id) => marks.putMark(mark(id, "late"), 99),
    newer: ({ marks }, id) => marks.putMark(mark(id, "newer"), 99),
    read: async ({ marks }, id) => (await marks.mark(id))?.text,
    expected: "newer",
  },
  {
    what: "new mark that was deleted",
    late: ({ marks }, id) => marks.putMark(mark(id, "late"), 99),
    async newer({ marks }, id) {
      await marks.putMark(mark(id, "newer"), 99);
      await marks.deleteMark(id);
    },
    read: async ({ marks }, id) => (await marks.mark(id))?.text,
    expected: undefined,
  },
  {
    what: "deletion of a mark that was put again",
    before: ({ marks }, id) => marks.putMark(mark(id, "first"), 99),
    late: ({ marks }, id) => marks.deleteMark(id),
    async newer({ marks }, id) {
      await marks.deleteMark(id);
      await marks.putMark(mark(id, "newer"), 99);
    },
    read: async ({ marks }, id) => (await marks.mark(id))?.text,
    expected: "newer",
  },
  {
    what: "revocation of a key",
    before: ({ keys }, id) => keys.add(apiKey(id)),
    late: ({ keys }, id) => keys.revoke(id, 1),
    newer: ({ keys }, id) => keys.revoke(id, 2),
    read: async ({ keys }, id) => (await keys.find(id))?.revokedAt,
    expected: 2,
  },
  {
    what: "note of a key's use",
    before: ({ keys }, id) => keys.add(apiKey(id)),
    late: ({ keys }, id) => keys.recordUse(id, 1),
    newer: ({ keys }, id) => keys.recordUse(id, 2),
    read: async ({ keys }, id) => (await keys.find(id))?.lastUsedOn,
    expected: 2,
  },
  {
    what: "change of a fact",
    before: ({ facts }, id) => facts.replaceText(id, undefined, "first"),
    late: ({ facts }, id) => facts.replaceText(id, "first", "late"),
    newer: ({ facts }, id) => facts.replaceText(id, "first", "newer"),
    read: ({ facts }, id) => facts.text(id),
    expected: "newer",
  },
  {
    what: "renewal of a lease that another owner has taken",
    before: ({ lease }, id) => lease(id, "late", 0, 5),
    late: ({ lease }, id) => lease(id, "late", 3, 8),
    newer: ({ lease }, id) => lease(id, "newer", 5, 10),
    read: ({ lease }, id) => lease(id, "newer", 6, 11),
    expected: "renewed",
  },
  {
    what: "removal of an expired message that was stored again",
    before: (stores, id) => storeMessage(stores, id, 1),
    late: ({ history }) => history.expire(2),
    async newer(stores, id) {
      await stores.history.expire(2);
      await storeMessage(stores, id, 3);
    },
    read: async ({ history }, id) => (await history.storedIds([id])).size,
    expected: 1,
  },
];

onServers(["mongodb"], "a write to MongoDB that is executed after its process has given up", function () {
  this.timeout(60_000);
  let proxy: LateRequests;
  let engine: TestEngine;
  let behindProxy: EntityEngine;

  before(async () => {
    engine = await openTestEngine();
    for (const id of ["a", "b"]) await engine.stores.catalogue.putSegment(segment(id, id));
    const url = mongodbUrl(engine.name);
    proxy = await openLateRequests(url);
    behindProxy = await engine.another({
      entities: { url: proxy.url(url) },
      limits: { store_deadline_ms: DEADLINE_MS },
    });
  });
  after(async () => {
    // Waits until the engines have aborted the transactions that late writes began.
    await engine.client.db(engine.name).dropDatabase();
    await engine.close();
    await proxy.close();
  });

  /** Executes the late write after the newer one, and returns the stored result. */
  async function afterLate({ what, before, late, newer, read }: LateWrite, held: readonly string[]): Promise<unknown> {
    const id = `${what}, ${held.length}`;
    await before?.(engine.stores, id);
    proxy.hold(held);
    const outcome = await late(behindProxy, id).then(
      () => "acknowledged",
      () => "unknown",
    );
    expect(outcome).to.equal("unknown");
    await newer(engine.stores, id);
    expect(proxy.kept).to.be.above(0);
    await proxy.deliver();
    return read(engine.stores, id);
  }

  for (const write of lateWrites) {
    it(`has no effect as a ${write.what}`, async () => {
      expect(await afterLate(write, WRITES)).to.equal(write.expected);
    });
  }

  it("has no effect as a change of a segment whose commit is executed late", async () => {
    expect(await afterLate(changedSegment, COMMIT)).to.equal(changedSegment.expected);
  });
});
