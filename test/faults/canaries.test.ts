import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { findBytes } from "../support/files.js";
import { type HookReceiver, hookReceiver } from "../support/hook-receiver.js";
import { type RealService, startReal } from "../support/real-service.js";
import { collectThrough, isCompleteIn, removeThrough, statusOfProfile } from "../support/requests.js";
import { until } from "../support/until.js";

const SUBJECTS = 200;

/** Part of all personal data of the tests. */
const canary = `canary${randomBytes(8).toString("hex")}`;
const written = [Buffer.from(canary), Buffer.from(canary, "utf16le"), Buffer.from(Buffer.from(canary).toString("hex"))];

describe("the embedded service", function () {
  this.timeout(120_000);
  const dir = dataFolder();
  let service: RealService;
  let receiver: HookReceiver;
  const start = () => {
    const hooks = [{ name: "crm", url: receiver.url, token: "t", segments: ["*"], fields: ["name"] }];
    return startReal(dir, { HOOKS: JSON.stringify(hooks) });
  };

  before(async () => {
    receiver = await hookReceiver();
  });
  after(() => receiver.close());
  beforeEach(async () => {
    service = await start();
  });

  it("stores and logs no readable byte of any person, nor of an erased person's key (P3)", async () => {
    for (let round = 0; round < 4; round += 1) {
      await collectThrough(
        service,
        Array.from({ length: SUBJECTS + 20 }, (_, index) => messageOf(index, round)),
      );
    }
    expect(await statusOfProfile(service, `email/${canary}-7@example.org`)).to.equal(200);
    expectNothing();
    await service.kill();
    expectNothing();

    const keys = keysIn(dir);
    service = await start();
    const ids: string[] = [];
    const half = SUBJECTS / 2;
    for (let index = 0; index < half; index += 1) {
      const path = index % 2 === 0 ? `email/${canary}-${index}@example.org` : `user_id/${canary}-${index}`;
      ids.push(await removeThrough(service, path));
    }
    const rest = Array.from({ length: SUBJECTS - half }, (_, i) => ({
      field: "user_id",
      value: `${canary}-${half + i}`,
    }));
    const headers = { "idempotency-key": canary };
    for (const json of [[{ field: "email", value: `${canary}@example.org` }], rest]) {
      const answer = await service.fetch("/api/deletion", {
        method: "POST",
        json,
        headers: json === rest ? headers : {},
      });
      const { data } = (await answer.json()) as { data: { request_id: string }[] };
      ids.push(...data.map(({ request_id }) => request_id));
    }
    for (const id of ids) await until("it is complete", () => isCompleteIn(service, id), 60_000);
    expectNothing();

    const live = keysIn(dir);
    const dead = [...keys].filter(([entity]) => !live.has(entity)).map(([, key]) => key);
    expect(dead.length).to.be.at.least(SUBJECTS);
    expect(receiver.changesOf(`${canary}-7@example.org`).at(-1)).to.equal("left segment-2");
    expect(outboxOf(dir).filter((entity) => entity !== "" && !live.has(entity))).to.deep.equal([]);
    expect(findBytes(dir, dead)).to.deep.equal([]);
    await service.kill();
    expect(findBytes(dir, dead)).to.deep.equal([]);
    expectNothing();

    service = await start();
    for (let index = 0; index < SUBJECTS; index += 1) {
      expect(await statusOfProfile(service, `user_id/${canary}-${index}`)).to.equal(404);
    }
    for (let index = SUBJECTS; index < SUBJECTS + 20; index += 1) {
      expect(await statusOfProfile(service, `user_id/${canary}-${index}`)).to.equal(200);
    }
  });

  const requests: [method: string, path: string, body?: string][] = [
    ["GET", `/api/entity/user/email/${canary}`],
    ["GET", `/api/entity/user/${canary}/x`],
    ["GET", `/api/entity/${canary}/email/x`],
    ["GET", `/api/entity/user/email/${canary}%zz`],
    ["GET", `/api/entity/user/email/${canary}?fields=${canary}&segments=${canary}`],
    ["GET", `/api/me/email/${canary}/`],
    ["GET", `/api/me/${canary}/x`],
    ["DELETE", `/api/entity/user/${canary}/x`],
    ["DELETE", `/api/entity/${canary}/email/x`],
    ["DELETE", `/api/entity/user/email/${canary}${"x".repeat(1100)}`],
    ["PUT", `/api/entity/user/email/${canary}`],
    ["GET", `/api/entity/deletestatus/${canary}`],
    ["POST", "/api/deletion", `{"field":"email","value":"${canary}","${canary}":1}`],
    ["POST", "/api/deletion", `[{"table":"${canary}","field":"${canary}","value":{"${canary}":1}}]`],
    ["POST", "/api/deletion", `[{"field":"email","value":"${canary}"},{"field":"${canary}`],
    ["GET", `/api/deletion?state=${canary}`],
    ["GET", `/api/deletion?after=${canary}`],
    ["GET", `/api/metric?dimension=${canary}&dimension_id=x&dimension_type=size`],
    ["GET", `/api/metric?dimension=stream&dimension_id=x&dimension_type=${canary}`],
    ["GET", `/api/metric?dimension=stream&dimension_id=x&dimension_type=size&range=${canary}`],
    ["GET", `/${canary}`],
    ["POST", `/collect/json/${canary}%20`, "{}"],
    ["POST", `/collect/json/web?table=${canary}`, `{"email":"${canary}"}`],
    ["POST", "/collect/json/web", `{"email":{"${canary}":1}}`],
    ["POST", "/collect/json/web", `{"${canary}":"${canary}"}`],
    ["POST", "/collect/json/web", `{"email":"${canary}`],
    ["POST", "/collect/json/web?timestamp_field=at", `{"email":"${canary}","at":"${canary}"}`],
    ["POST", "/collect/json/web", `{"email":"${canary}-ok@example.org","segments":{"${canary}":[]}}`],
    ["POST", "/api/metric", `{"${canary}":1}`],
    ["POST", "/api/metric/points", `[{"dimension":"${canary}"}]`],
    ["POST", "/api/v2/write", `${canary} value=x`],
    ["PUT", `/api/segment/${canary}%00`, "{}"],
  ];

  it("has no identifier in an error, the log or /metrics, wherever it was sent (P7)", async () => {
    for (const [method, path, body] of requests) {
      const answer = await service.fetch(path, { method, ...(body === undefined ? {} : { body }) });
      const text = `${JSON.stringify([...answer.headers])}${await answer.text()}`;
      expect(answer.status, path.replace(canary, "…")).to.be.within(400, 499);
      expect(text.includes(canary), `${method} ${path.replaceAll(canary, "…")} ${text}`).to.equal(false);
    }
    const metrics = await (await service.fetch("/metrics")).text();
    expect(metrics).to.include("entity_metrics_deletions_completed_total");
    expect(metrics.includes(canary)).to.equal(false);
    expectNothing();
  });

  function expectNothing(): void {
    expect(service.log().includes(canary)).to.equal(false);
    expect(findBytes(dir, written)).to.deep.equal([]);
  }
});

/** Known by e-mail at first, by id then, joined in the third round, rewritten in the fourth; some short, some long. */
function messageOf(index: number, round: number): object {
  const email = `${canary}-${index}@example.org`;
  const user_id = `${canary}-${index}`;
  const size = [10, 300, 5000, 30_000][(index + round) % 4] as number;
  return {
    ...(round === 1 ? {} : { email }),
    ...(round === 0 ? {} : { user_id }),
    [`${canary}-name`]: `${canary}-${round}`,
    text: `${canary} `.repeat(size / canary.length),
    segments: { add: [`segment-${index % 5}`] },
  };
}

/** The keys that are not destroyed, by entity. */
function keysIn(dir: string): Map<string, Uint8Array> {
  const db = new DatabaseSync(join(dir, "ledger.db"), { readOnly: true });
  const rows = db.prepare("SELECT entity, key FROM entity_key WHERE key <> zeroblob(32)").all();
  db.close();
  return new Map((rows as unknown as { entity: string; key: Uint8Array }[]).map(({ entity, key }) => [entity, key]));
}

/** The entities of changes that wait for hooks. */
function outboxOf(dir: string): string[] {
  const db = new DatabaseSync(join(dir, "entities.db"), { readOnly: true });
  const rows = db.prepare("SELECT entity FROM hook_event").all();
  db.close();
  return (rows as { entity: string }[]).map(({ entity }) => entity);
}
