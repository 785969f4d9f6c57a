import { expect } from "chai";
import { type ProcessSet, processSet } from "../support/process-set.js";
import type { RealService } from "../support/real-service.js";
import { collectThrough, isCompleteIn, pointOf, removeThrough, statusOf } from "../support/requests.js";
import { runToEnd } from "../support/run-command.js";
import { onServers } from "../support/servers.js";
import { until } from "../support/until.js";

const PAIRS = 100;
const AT_ONCE = 8;
const HOUR = 3_600_000;
const SLOT = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;

onServers(["mongodb", "influxdb", "bullmq"], "processes on the same stores", function () {
  this.timeout(600_000);
  let set: ProcessSet;
  let apis: [RealService, RealService];
  let workers: RealService[];

  before(async () => {
    set = await processSet();
    const [a, b, ...rest] = await Promise.all([
      set.start("api"),
      set.start("api"),
      set.start("worker"),
      set.start("worker"),
    ]);
    apis = [a as RealService, b as RealService];
    workers = rest;
  });
  after(() => set.close());

  for (const [what, readBefore] of [
    ["that the other has read before", true],
    ["that no process has read yet", false],
  ] as const) {
    it(`return a point within a second of its write in another process, of a series ${what}`, async () => {
      for (let round = 0; round < 20; round += 1) {
        const [writer, reader] = round % 2 === 0 ? apis : [apis[1], apis[0]];
        const id = `visible.${readBefore}.${round % 3}`;
        if (readBefore) for (let time = 0; time < 2; time += 1) await valuesOf(reader, id);
        await write(writer, id, round);
        await shownWithin(1_000, reader, id, round);
        expect(await valuesOf(writer, id)).to.deep.equal([round]);
      }
    });
  }

  it("include a new stream of another process in the sum over all streams within a second", async () => {
    for (let round = 0; round < 6; round += 1) {
      const [writer, reader] = round % 2 === 0 ? apis : [apis[1], apis[0]];
      await until("it is answered from memory", async () => (await read(reader, "all_streams")).is_cached);
      const [before = 0] = await valuesOf(reader, "all_streams");
      await write(writer, `new.${round}`, 1_000);
      await shownWithin(1_000, reader, "all_streams", before + 1_000);
    }
  });

  it("count each added point once, also if it is sent to both, and show the sum within a second", async () => {
    for (let round = 1; round <= 5; round += 1) {
      const points = Array.from({ length: 20 }, (_, i) => ({
        ...pointOf("stream", "added", 1, SLOT + 1_000 * round + i),
        source: `${i % 3}`,
      }));
      const adding = apis.map((api, i) =>
        api.fetch("/api/metric/points?mode=add", { method: "POST", json: points.slice(5 * i, 15 + 5 * i) }),
      );
      for (const { status } of await Promise.all(adding)) expect(status).to.equal(200);
      await Promise.all(apis.map((api) => shownWithin(1_000, api, "added", 20 * round)));
    }
  });

  it("return a point within 11 s whose writer was killed before it announced the write", async () => {
    const dying = await set.start("api", { FAILPOINT: "points-written" });
    await until("it is answered from memory", async () => (await read(apis[0], "orphan")).is_cached);
    await write(dying, "orphan", 101).catch(() => undefined);
    expect(await dying.gone).to.equal("SIGKILL");
    await Promise.all(apis.map((api) => shownWithin(11_000, api, "orphan", 101)));
    await until("it is answered from memory again", async () => (await read(apis[0], "orphan")).is_cached, 60_000);
    expect(await valuesOf(apis[0], "orphan")).to.deep.equal([101]);
  });

  it(`return no profile on any read route once any of them has answered its DELETE, in ${PAIRS} pairs (P2)`, async () => {
    const people = Array.from({ length: PAIRS }, (_, index) => index);
    for (let from = 0; from < PAIRS; from += 100)
      await collectThrough(apis[from % 2 === 0 ? 0 : 1], people.slice(from, from + 100).map(personOf));
    const ids: string[] = [];
    const before: number[] = [];
    const after: number[] = [];
    const queue = [...people];
    const client = async () => {
      for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
        const [one, other] = index % 2 === 0 ? apis : [apis[1], apis[0]];
        const paths = pathsOf(index);
        before.push(await statusOf(other, paths[index % paths.length] as string));
        ids.push(await removeThrough(one, index % 3 === 0 ? `email/p${index}@example.org` : `_uid/id-${index}`));
        after.push(...(await Promise.all(paths.map((path) => statusOf(other, path)))));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    expect(before.filter((status) => status !== 200)).to.deep.equal([]);
    expect(after).to.have.length(PAIRS * 5);
    expect(after.filter((status) => status !== 404)).to.deep.equal([]);
    for (const id of ids) await until("it is complete", () => isCompleteIn(apis[1], id), 60_000);
  });

  it("refuse a revoked key, each within five seconds", async () => {
    const created = await runToEnd("key", ["create", "--scopes", "metric:read"], set.environment);
    expect(created.err).to.equal("");
    const key = created.out.trim();
    for (const service of [...apis, ...workers]) expect(await statusOf(service, "/metrics", key)).to.equal(200);
    const [, id = ""] = key.split("_");
    expect((await runToEnd("key", ["revoke", id], set.environment)).code).to.equal(0);
    const revoked = performance.now();
    await until("every process refuses it", async () => {
      const asked = performance.now();
      const all = await Promise.all([...apis, ...workers].map((service) => statusOf(service, "/metrics", key)));
      const isRefused = all.every((status) => status === 401);
      if (!isRefused) expect(asked - revoked).to.be.below(5000);
      return isRefused;
    });
  });

  it("with only the role worker report their health, and serve no other route", async () => {
    for (const worker of workers) {
      for (const path of ["/health", "/ready", "/metrics"]) expect(await statusOf(worker, path), path).to.equal(200);
      for (const path of ["/api/entity/user/email/a@example.org", "/api/deletion", metricPath("a")])
        expect(await statusOf(worker, path), path).to.equal(404);
      await removeThrough(worker, "email/a@example.org").then(
        () => expect.fail("it was answered"),
        (error: Error) => expect(error.message).to.equal("DELETE: 404"),
      );
    }
  });
});

onServers(["mongodb", "influxdb", "bullmq"], "a process with only the role api", function () {
  this.timeout(120_000);

  it("erases nothing, and leaves deletions to a later worker", async () => {
    const set = await processSet();
    const api = await set.start("api");
    await collectThrough(api, [personOf(1), personOf(2)]);
    const ids = [await removeThrough(api, "email/p1@example.org"), await removeThrough(api, "_uid/id-2")];
    const began = performance.now();
    while (performance.now() - began < 1000) {
      for (const id of ids) expect(await isCompleteIn(api, id)).to.equal(false);
    }
    await set.start("worker");
    for (const id of ids) await until("it is complete", () => isCompleteIn(api, id), 60_000);
  });
});

function personOf(index: number): object {
  return { email: `p${index}@example.org`, _uid: `id-${index}`, plan: "gold", segments: ["buyers"] };
}

function pathsOf(index: number): string[] {
  return [
    `/api/entity/user/email/p${index}@example.org`,
    `/api/entity/user/_uid/id-${index}?segments=false`,
    `/api/entity/user/id-${index}`,
    `/api/me/_uid/id-${index}?meta=false`,
    `/api/entity/user/email/p${index}@example.org?download=true`,
  ];
}

async function write(service: RealService, id: string, value: number): Promise<void> {
  const json = [{ dimension: "stream", dimension_id: id, dimension_type: "size", value, ts: SLOT }];
  expect((await service.fetch("/api/metric/points", { method: "POST", json })).status).to.equal(200);
}

function metricPath(id: string): string {
  const names = `dimension=stream&dimension_id=${id}&dimension_type=size`;
  return `/api/metric?${names}&interval=1h&startdate=${SLOT}&enddate=${SLOT + HOUR}`;
}

interface Answered {
  readonly is_cached: boolean;
  readonly values: readonly { readonly value: number }[];
}

async function read(service: RealService, id: string): Promise<Answered> {
  const answer = await service.fetch(metricPath(id));
  const { data } = (await answer.json()) as { data: [Answered] };
  expect(answer.status).to.equal(200);
  return data[0];
}

/** Each request that is sent `ms` from now or later is answered with the value; earlier ones may be. */
async function shownWithin(ms: number, service: RealService, id: string, value: number): Promise<void> {
  const kept = performance.now();
  await until("it is shown", async () => {
    const asked = performance.now();
    const isShown = (await valuesOf(service, id)).includes(value);
    if (!isShown) expect(asked - kept).to.be.below(ms);
    return isShown;
  });
}

async function valuesOf(service: RealService, id: string): Promise<number[]> {
  return (await read(service, id)).values.map(({ value }) => value);
}
