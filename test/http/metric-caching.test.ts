import { expect } from "chai";
import { rawRequest } from "../support/raw-request.js";
import { startService, type TestService } from "../support/service.js";

const HOUR = 3_600_000;
const START = Date.parse("2026-03-02T10:17:00Z");
const web = { dimension: "stream", dimension_id: "web", dimension_type: "size" };
const webQuery = "/api/metric?dimension=stream&dimension_id=web&dimension_type=size";

describe("a metric answer that was given before", () => {
  let service: TestService;
  let now = START;

  beforeEach(async () => {
    now = START;
    service = await startService({ roles: ["api"] }, { clock: () => now });
    await save("web", START, 5);
  });
  afterEach(() => service.stop());

  for (const method of ["GET", "HEAD"] as const) {
    for (const control of ["no-cache", "max-age=0", "no-store", undefined]) {
      it(`is 304 to ${method} with its ETag and ${control === undefined ? "no Cache-Control" : control}`, async () => {
        const { etag } = await get(webQuery);
        for (const tags of [etag, `"other", ${etag}`, etag.slice(2), "*"]) {
          const headers = { "if-none-match": tags, ...(control === undefined ? {} : { "cache-control": control }) };
          const { status, headers: answered } = await raw(method, webQuery, headers);
          expect([tags, status, answered.get("etag")]).to.deep.equal([tags, 304, etag]);
        }
      });
    }

    it(`is 200 to ${method} with another ETag`, async () => {
      const { status } = await raw(method, webQuery, { "if-none-match": '"other", W/"another"' });
      expect(status).to.equal(200);
    });
  }

  it("has no slot that metrics.keep has expired, however it is asked for", async () => {
    // The bucket on a server goes by the real time.
    now = Date.now();
    const window = { interval: "1h", startdate: String(now - 99 * HOUR), enddate: String(now + HOUR) };
    const fixed = `${webQuery}&${new URLSearchParams(window)}`;
    const keeping = await startService({ metrics: { keep: "2d" } }, { clock: () => now });
    const ask = async () => {
      const post = (json: object) => keeping.fetch("/api/metric", { method: "POST", json });
      const answers = await Promise.all([
        post({ ...web, ...window }),
        post({ ...web, interval: "1h", range: "9d" }),
        keeping.fetch(fixed),
        keeping.fetch(`${webQuery}&range=8d&interval=1h`),
      ]);
      return Promise.all(answers.map(async (answer) => valuesOf(await answer.json())));
    };
    const tagOf = async () => String((await keeping.fetch(fixed)).headers.get("etag"));
    try {
      const points = [47, 1].map((hours) => ({ ...web, ts: now - hours * HOUR, value: hours }));
      const { status } = await keeping.fetch("/api/metric/points", { method: "POST", json: points });
      expect(status).to.equal(200);
      for (const _ of [1, 2, 3]) expect(await ask()).to.deep.equal(Array(4).fill([47, 1]));
      const tag = await tagOf();
      expect(await tagOf()).to.equal(tag);
      now += 2 * HOUR;
      for (const _ of [1, 2, 3]) expect(await ask()).to.deep.equal(Array(4).fill([1]));
      expect(await tagOf()).not.to.equal(tag);
      expect((await keeping.fetch(fixed, { headers: { "if-none-match": tag } })).status).to.equal(200);
      now += 47 * HOUR;
      for (const _ of [1, 2, 3]) expect(await ask()).to.deep.equal(Array(4).fill([]));
    } finally {
      await keeping.stop();
    }
  });

  it("has the segments that the catalogue has by now, also after it had none", async () => {
    const every = { dimension: "segment", dimension_id: "all_segments", dimension_type: "size", ...fixedWindow() };
    const other = { dimension: "stream", dimension_id: "web", dimension_type: "size", ...fixedWindow() };
    for (const batch of [[every], [other, every]]) {
      for (const _ of [1, 2, 3]) expect(await post(batch)).to.have.length(batch.length - 1);
    }
    await service.fetch("/api/segment/new", { method: "PUT", json: {} });
    for (const batch of [[every], [other, every]]) expect(await post(batch)).to.have.length(batch.length);
  });

  async function save(id: string, ts: number, value: number): Promise<void> {
    const json = [{ dimension: "stream", dimension_id: id, dimension_type: "size", value, ts }];
    expect((await service.fetch("/api/metric/points", { method: "POST", json })).status).to.equal(200);
  }

  function fixedWindow(): object {
    return { startdate: START - 30 * HOUR, enddate: START };
  }

  async function post(json: unknown): Promise<{ values: { ts: string }[] }[]> {
    const answer = await service.fetch("/api/metric", { method: "POST", json });
    return ((await answer.json()) as { data: { values: { ts: string }[] }[] }).data;
  }

  async function get(path: string): Promise<{ etag: string; text: string }> {
    const answer = await service.fetch(path);
    expect(answer.status).to.equal(200);
    return { etag: String(answer.headers.get("etag")), text: await answer.text() };
  }

  function raw(method: string, path: string, headers: Record<string, string>) {
    const lines = Object.entries({ host: "a", connection: "close", authorization: service.key, ...headers });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    return rawRequest(service.port, `${method} ${path} HTTP/1.1\r\n${head}\r\n`);
  }
});

function valuesOf(answer: unknown): number[] {
  const { data } = answer as { data: [{ values: { value: number }[] }] };
  return data[0].values.map(({ value }) => value);
}
