import { expect } from "chai";
import { systemClock } from "../../../src/clock.js";
import { StartError } from "../../../src/errors.js";
import { openLog } from "../../../src/log.js";
import { openMongo, openMongoKeys } from "../../../src/stores/mongodb/index.js";
import type { EntityEngine } from "../../../src/stores/stores.js";
import { dropFromServers } from "../../support/drop-from-servers.js";
import { mongodbUrl, onServers, ownName, testPepper } from "../../support/servers.js";
import { settingsFor } from "../../support/service.js";

onServers(["mongodb"], "the engine on MongoDB", () => {
  let name: string;
  let engine: EntityEngine | undefined;
  beforeEach(() => {
    name = ownName();
  });
  afterEach(async () => {
    await engine?.close();
    engine = undefined;
    await dropFromServers(name);
  });

  const settings = () =>
    settingsFor("/nowhere", {
      pepper: testPepper,
      entities: { url: mongodbUrl(name) },
      limits: { store_deadline_ms: 2000 },
    });
  const open = async () => {
    engine = await openMongo({ settings: settings(), log: openLog("silent"), clock: systemClock });
    return engine;
  };

  it("stores the pepper, and its probes succeed", async () => {
    const { pepper, probes } = await open();
    expect(Buffer.from(pepper).toString()).to.equal(testPepper);
    expect(probes.map(({ name, required }) => [name, required])).to.deep.equal([
      ["ledger", true],
      ["entities", true],
    ]);
    for (const probe of probes) expect(await probe.check()).to.equal(undefined);
  });

  it("opens the API keys without the pepper while a service runs", async () => {
    const { keys } = await open();
    const beside = await openMongoKeys({ ...settings(), pepper: null });
    const kept = {
      id: "one",
      name: "One",
      bounds: {},
      digest: "ab",
      createdAt: 1,
      revokedAt: undefined,
      lastUsedOn: undefined,
    };
    await beside.keys.add({ ...kept, scopes: ["admin"] });
    await beside.close();
    expect((await keys.find("one"))?.name).to.equal("One");
  });

  it("opens no API keys in an empty database, and does not create one", async () => {
    const error = await openMongoKeys(settings()).catch((failure: unknown) => failure);
    expect(error).to.be.instanceOf(StartError);
    expect((error as Error).message).to.match(/is empty: start the service once/);
  });
});
