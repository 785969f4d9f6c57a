import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import { expect } from "chai";
import { pino } from "pino";
import { withMongo } from "../support/mongo-client.js";
import { collectThrough, isCompleteIn, removeThrough, statusOfProfile } from "../support/requests.js";
import { findOnServers } from "../support/server-bytes.js";
import { nameOf, onServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const ERASED = 40;
const LIVE = 10;

/** Part of all personal data of the test. */
const canary = `canary${randomBytes(8).toString("hex")}`;
const written = [canary, Buffer.from(canary).toString("hex")].map((text) => Buffer.from(text));

onServers(["mongodb", "influxdb", "bullmq"], "a service on servers", function () {
  this.timeout(300_000);
  const lines: string[] = [];
  let service: TestService;

  before(async () => {
    const sink = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    service = await startService({}, { onServers: true, log: pino({ level: "debug" }, sink) });
  });
  after(() => service.stop());

  it("stores no readable byte of a person or of an entity's key in documents, Redis or the log (P3, P7)", async () => {
    for (let round = 0; round < 3; round += 1) {
      await collectThrough(
        service,
        Array.from({ length: ERASED + LIVE }, (_, index) => messageOf(index, round)),
      );
    }
    expect(await statusOfProfile(service, `email/${canary}-7@example.org`)).to.equal(200);
    const stored = await storedKeys();
    const raw = [...(await service.service.stores.entityKeys.read([...stored.keys()])).values()];
    expect(raw.length).to.be.at.least(ERASED + LIVE);
    await expectNothing(raw);

    const ids: string[] = [];
    for (let index = 0; index < ERASED; index += 1) {
      ids.push(
        await removeThrough(
          service,
          index % 2 === 0 ? `email/${canary}-${index}@example.org` : `user_id/${canary}-${index}`,
        ),
      );
    }
    await expectNothing(raw);
    for (const id of ids) await until("it is complete", () => isCompleteIn(service, id), 60_000);
    const erased = (await service.service.stores.ledger.since(0, 1000)).flatMap(({ deletion }) => deletion.entities);
    const destroyed = erased.flatMap((id) => stored.get(id) ?? []);
    expect(destroyed.length).to.be.at.least(ERASED);
    await expectNothing([...raw, ...destroyed]);

    for (let index = 0; index < ERASED + LIVE; index += 1) {
      expect(await statusOfProfile(service, `user_id/${canary}-${index}`)).to.equal(index < ERASED ? 404 : 200);
    }
    expect((await (await service.fetch("/metrics")).text()).includes(canary)).to.equal(false);
    expect((await (await service.fetch("/ready")).text()).includes(canary)).to.equal(false);
  });

  async function expectNothing(keys: readonly Uint8Array[]): Promise<void> {
    expect(await findOnServers(nameOf(service.dir), [...written, ...keys])).to.deep.equal([]);
    expect(lines.join("").includes(canary)).to.equal(false);
  }

  /** Keys that are not destroyed, as they are stored, by entity. */
  async function storedKeys(): Promise<Map<string, Uint8Array>> {
    const name = nameOf(service.dir);
    return withMongo(async (client) => {
      const found = client.db(`${name}_ledger`).collection<StoredKey>("entity_keys").find();
      return new Map((await found.toArray()).map(({ _id, key }) => [_id, key.value()]));
    });
  }
});

interface StoredKey {
  readonly _id: string;
  readonly key: { value(): Uint8Array };
}

/** Known by e-mail at first, by id then, joined in the third round; some short, some long. */
function messageOf(index: number, round: number): object {
  const size = [10, 300, 5000][(index + round) % 3] as number;
  return {
    ...(round === 1 ? {} : { email: `${canary}-${index}@example.org` }),
    ...(round === 0 ? {} : { user_id: `${canary}-${index}` }),
    [`${canary}-name`]: `${canary}-${round}`,
    text: `${canary} `.repeat(size / canary.length),
    segments: { add: [`segment-${index % 5}`] },
  };
}
