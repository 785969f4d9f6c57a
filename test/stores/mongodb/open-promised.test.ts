import { expect } from "chai";
import { dropFromServers } from "../../support/drop-from-servers.js";
import { mongodbUrl, onServers, ownName, testPepper } from "../../support/servers.js";
import { startService, type TestService } from "../../support/service.js";
import { until } from "../../support/until.js";
import { type MongoWire, openMongoWire, type WireCommand } from "./wire.js";

const changes = new Set(["insert", "update", "delete", "findAndModify", "create", "createIndexes"]);
const reads = new Set(["find", "aggregate", "count", "distinct"]);

onServers(["mongodb"], "a service on MongoDB whose URL requests weaker guarantees", () => {
  let name: string;
  let wire: MongoWire;
  let service: TestService;

  before(async () => {
    name = ownName();
    wire = await openMongoWire(process.env.TEST_MONGODB_URL ?? "");
    const url = new URL(wire.url(mongodbUrl(name)));
    for (const weak of ["w=1", "journal=false", "readPreference=secondary", "readConcernLevel=available"]) {
      url.searchParams.append(...(weak.split("=") as [string, string]));
    }
    service = await startService({ entities: { url: url.href }, pepper: testPepper });
    await useAll(service);
    await service.stop();
  });
  after(async () => {
    await wire.close();
    await dropFromServers(name);
  });

  it("writes everything to a majority and its disks", () => {
    const written = wire.commands.filter((command) => changes.has(command.name));
    expect(collectionsOf(written)).to.include.members([
      "deletions",
      "entity_keys",
      "entities",
      "identities",
      "messages",
      "marks",
    ]);
    const commits = wire.commands.filter(({ name }) => name === "commitTransaction");
    expect(commits).to.not.deep.equal([]);
    const confirmed = [...written.filter(({ inTransaction }) => !inTransaction), ...commits];
    const weak = confirmed.filter(({ writeConcern }) => {
      const { w, j } = (writeConcern ?? {}) as { w?: unknown; j?: unknown };
      return w !== "majority" || j !== true;
    });
    expect(weak).to.deep.equal([]);
  });

  it("reads everything from the primary", () => {
    const read = wire.commands.filter((command) => reads.has(command.name));
    expect(collectionsOf(read)).to.include.members(["deletions", "entity_keys", "entities", "identities", "messages"]);
    // With directConnection the driver sends primaryPreferred.
    const elsewhere = read.filter(({ readPreference = "primary" }) => !/^primary(Preferred)?$/.test(readPreference));
    expect(elsewhere).to.deep.equal([]);
  });
});

/** Writes, merges, reads and erases a profile, with a segment, a message and its Idempotency-Key. */
async function useAll({ fetch }: TestService): Promise<void> {
  const ok = async (answer: Promise<Response>) => {
    const response = await answer;
    expect(response.status, await response.clone().text()).to.be.oneOf([200, 201]);
    return (await response.json()) as { data: { request_id: string; completed: boolean } };
  };
  const collect = (json: unknown) =>
    ok(fetch("/collect/json/web", { method: "POST", json, headers: { "idempotency-key": "one" } }));
  await ok(fetch("/api/segment/s1", { method: "PUT", json: { name: "S", table: "user" } }));
  await collect([
    { _uid: "a", segments: ["s1", "s2"] },
    { email: "a@example.com", name: "A" },
    { _uid: "a", email: "a@example.com" },
  ]);
  await ok(fetch("/api/entity/user/_uid/a"));
  const { data } = await ok(fetch("/api/entity/user/_uid/a", { method: "DELETE" }));
  await until("the deletion is complete", async () => {
    const status = await ok(fetch(`/api/entity/deletestatus/${data.request_id}`));
    return status.data.completed;
  });
  await ok(fetch("/api/segment/s1", { method: "DELETE" }));
}

function collectionsOf(commands: readonly WireCommand[]): string[] {
  return [...new Set(commands.map(({ collection }) => collection ?? ""))];
}
