import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { finishPending } from "../../src/entities/finish-pending.js";
import { identityHashing } from "../../src/entities/identity.js";
import { encodeMessage } from "../../src/entities/message.js";
import { sealing } from "../../src/entities/sealed.js";
import { ServiceError } from "../../src/errors.js";
import { openLog } from "../../src/log.js";
import { amount } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const newId = () => randomBytes(16).toString("hex");

/** Lines of a log, by level. */
function recordedLog() {
  const lines: [level: string, fields: Record<string, unknown>, text: string][] = [];
  const record = (level: string) => (fields: Record<string, unknown>, text: string) =>
    lines.push([level, fields, text]);
  const log = { ...openLog("silent"), warn: record("warn"), error: record("error") };
  return { lines, log: log as unknown as ReturnType<typeof openLog> };
}

describe("a pending message that cannot be applied", () => {
  let now: number;
  beforeEach(() => {
    now = Date.now();
  });

  /** Leaves messages of `people` pending, as a writer does that dies; those in `broken` cannot be opened. Hands out their ids. */
  async function leave({ stores }: TestService["service"], people: readonly string[], broken: readonly string[]) {
    const hashOf = identityHashing(stores.pepper);
    const ids = new Map<string, string>();
    for (const [position, value] of people.entries()) {
      const [id, entity] = [newId(), newId()];
      const identities = [{ field: "_uid", value }];
      await stores.entityKeys.create([entity]);
      const plain = encodeMessage({ identities, attributes: [["x", 1]], segments: undefined });
      const [sealed] = await sealing(stores.entityKeys).seal([{ entity, plain }]);
      const hashes = identities.map((identity) => hashOf("user", identity));
      const bytes = sealed as Uint8Array;
      if (broken.includes(value)) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      const stamp = { time: now, arrival: now + position / 1024, position };
      await stores.history.append([{ id, table: "user", stream: "web", entity, hashes, ...stamp, sealed: bytes }]);
      ids.set(value, id);
    }
    return ids;
  }

  const statusOf = async (service: TestService, value: string) => (await service.fetch(`/api/me/_uid/${value}`)).status;

  async function setAside(service: TestService): Promise<string | undefined> {
    const text = await (await service.fetch("/metrics")).text();
    return /^entity_metrics_messages_set_aside (\d+)$/m.exec(text)?.[1];
  }

  it("stops no start and no message beside it: it is set aside, logged by id and counted", async () => {
    const first = await startService({ roles: ["api"] }, { clock: () => now });
    const people = ["a", "b", "c", "d", "e", "f", "g"];
    const ids = await leave(first.service, people, ["b", "f"]);
    await first.stop({ keep: true });

    // On servers another process may have it under way, for a while.
    now += amount(0, 31_000);
    const { lines, log } = recordedLog();
    const options = { clock: () => now, dir: first.dir };
    const second = await startService({ roles: ["api"] }, { ...options, log });
    const found = await Promise.all(people.map((value) => statusOf(second, value)));
    expect(found).to.deep.equal([200, 404, 200, 200, 200, 404, 200]);
    expect(await setAside(second)).to.equal("2");
    const logged = lines.filter(([, { message_id }]) => message_id !== undefined);
    expect(logged.map(([level, { message_id }]) => [level, message_id])).to.deep.equal(
      ["b", "f"].map((value) => ["error", ids.get(value)]),
    );
    expect((await second.fetch("/collect/json/web", { method: "POST", json: { _uid: "b" } })).status).to.equal(200);
    expect(await statusOf(second, "b")).to.equal(200);
    await second.stop({ keep: true });

    const again = recordedLog();
    const third = await startService({ roles: ["api"] }, { ...options, log: again.log });
    expect(again.lines).to.deep.equal([]);
    expect(await setAside(third)).to.equal("2");
    await third.stop();
  });

  it("is erased with the person that it names", async () => {
    const first = await startService({}, { clock: () => now });
    await leave(first.service, ["a"], ["a"]);
    await first.stop({ keep: true });
    now += amount(0, 31_000);
    const second = await startService({}, { clock: () => now, dir: first.dir });
    expect(await setAside(second)).to.equal("1");
    now += 1_000;
    const answer = await second.fetch("/api/entity/user/_uid/a", { method: "DELETE" });
    const { request_id } = ((await answer.json()) as { data: { request_id: string } }).data;
    await until("it is erased", async () => {
      const status = await second.fetch(`/api/entity/deletestatus/${request_id}`);
      return ((await status.json()) as { data: { completed: boolean } }).data.completed;
    });
    expect(await setAside(second)).to.equal("0");
    await second.stop();
  });

  it("is told from a store that fails: then nothing is set aside, and the message is applied later", async () => {
    const service = await startService({ roles: ["api"] }, { clock: () => now });
    await leave(service.service, ["a"], []);
    const { stores } = service.service;
    const away = new Error("the store is away");
    const parts = {
      ...stores,
      segments: { register: async () => {}, names: async () => new Map<string, string>() },
      newId,
    };
    const failing = {
      ...parts,
      entities: { ...stores.entities, save: () => Promise.reject(away) },
      failureOf: (error: unknown) => (error === away ? new ServiceError("unavailable", "away") : undefined),
    };
    expect(await finishPending(failing, Number.MAX_SAFE_INTEGER).catch((error: unknown) => error)).to.equal(away);
    const busy = {
      ...failing,
      entities: { ...stores.entities, save: () => Promise.reject(new ServiceError("unavailable", "busy")) },
    };
    expect(await finishPending(busy, Number.MAX_SAFE_INTEGER)).to.equal(0);
    expect(await stores.history.countAside()).to.equal(0);
    expect(await finishPending(parts, Number.MAX_SAFE_INTEGER)).to.equal(1);
    expect(await statusOf(service, "a")).to.equal(200);
    await service.stop();
  });
});
