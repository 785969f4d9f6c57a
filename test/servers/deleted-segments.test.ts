import { expect } from "chai";
import { MongoClient } from "mongodb";
import { type ProcessSet, processSet } from "../support/process-set.js";
import type { RealService } from "../support/real-service.js";
import { collectThrough } from "../support/requests.js";
import { mongodbUrl, onServers } from "../support/servers.js";
import { until } from "../support/until.js";

const MEMBERS = 3_000;

onServers(["mongodb", "influxdb", "bullmq"], "a segment that is deleted by a process that is killed", function () {
  this.timeout(240_000);
  let set: ProcessSet;
  let deleting: RealService;
  let other: RealService;
  let client: MongoClient;

  before(async () => {
    set = await processSet();
    client = new MongoClient(mongodbUrl(set.name));
    [deleting, other] = await Promise.all([set.start("api"), set.start("api")]);
    for (let from = 0; from < MEMBERS; from += 500) {
      const people = Array.from({ length: 500 }, (_, index) => ({ user_id: `${from + index}`, segments: ["gone"] }));
      await collectThrough(other, people);
    }
  });
  after(async () => {
    await client.close();
    await set.close();
  });

  const path = "/api/segment/gone";
  const read = async () => {
    const answer = await other.fetch(path);
    return { status: answer.status, size: ((await answer.json()) as { data: { size: number } | null }).data?.size };
  };
  const segmentsOf = async (person: string) => {
    const answer = await other.fetch(`/api/entity/user/user_id/${person}`);
    return ((await answer.json()) as { data: { segments: string[] } }).data.segments;
  };
  const stored = () =>
    client
      .db()
      .collection("entities")
      .countDocuments({ segments: { $in: ["+gone", "-gone"] } });

  it("has the members alone that later messages name, before and after the void memberships are removed", async () => {
    expect(await read()).to.deep.equal({ status: 200, size: MEMBERS });
    const deletion = deleting.fetch(path, { method: "DELETE" }).catch(() => undefined);
    await until("the other process has no such segment", async () => (await read()).status === 404);
    await deleting.kill();
    await deletion;
    await collectThrough(other, [{ user_id: "new", segments: { add: ["gone"] } }]);
    expect(await read()).to.deep.equal({ status: 200, size: 1 });
    expect(await segmentsOf("new")).to.deep.equal(["gone"]);
    expect(await segmentsOf("17")).to.deep.equal([]);
    await until("the void memberships are removed", async () => (await stored()) <= 1, 90_000);
    expect(await read()).to.deep.equal({ status: 200, size: 1 });
    expect(await segmentsOf("new")).to.deep.equal(["gone"]);
  });
});
