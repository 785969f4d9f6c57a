import { expect } from "chai";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfEachTest, serviceOfSuite, startService } from "../support/service.js";

const HOUR = 3_600_000;
const now = Date.parse("2024-02-29T10:17:03.123Z");

interface Series {
  readonly name: string;
  readonly dimension_id: string;
  readonly values: readonly { readonly value: number; readonly ts: string }[];
}

interface Answer {
  readonly data: readonly Series[];
}

describe("a metric response", () => {
  let at = now;

  const service = serviceOfSuite({ roles: ["api"] }, { clock: () => at });
  before(async () => {
    await write([
      ...[1, 2, 3, 4].map((hours) => pointOf("stream", "web", hours, now - hours * HOUR)),
      pointOf("segment", "s1", 10, now - 2 * HOUR),
      pointOf("segment", "s1", 20, now - 4 * HOUR),
    ]);
    for (const id of ["s2", "s1", "Z"]) {
      const put = await service.fetch(`/api/segment/${id}`, { method: "PUT", json: { name: `segment ${id}` } });
      expect(put.status).to.equal(200);
    }
  });
  beforeEach(() => {
    at = now;
  });

  const write = (points: readonly object[]) => writePoints(service, points);

  async function get(query: string): Promise<{ status: number; headers: Headers; body: Answer }> {
    const answer = await service.fetch(`/api/metric?${query}`);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Answer };
  }

  async function post(json: unknown): Promise<{ status: number; body: Answer }> {
    const answer = await service.fetch("/api/metric", { method: "POST", json });
    return { status: answer.status, body: (await answer.json()) as Answer };
  }

  const web = "dimension=stream&dimension_id=web&dimension_type=size";
  const webItem = { dimension: "stream", dimension_id: "web", dimension_type: "size" };

  it("contains every field of a series", async () => {
    const { status, body } = await get(`${web}&range=4h`);
    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      status: 200,
      message: "success",
      data: [
        {
          name: "stream.web.size",
          dimension: "stream",
          dimension_id: "web",
          dimension_type: "size",
          range: "4h",
          aggregation: "sum",
          interval: "2h",
          is_cached: false,
          complete_until: String(Date.parse("2024-02-29T10:00:00Z")),
          next_save_at: String(Date.parse("2024-02-29T11:00:00Z")),
          values: [
            { value: 7, ts: String(Date.parse("2024-02-29T06:00:00Z")) },
            { value: 3, ts: String(Date.parse("2024-02-29T08:00:00Z")) },
          ],
        },
      ],
    });
  });

  it("contains a series for each segment of the catalogue, in id order and in place", async () => {
    const all = { dimension: "segsize", dimension_id: "all_segments", dimension_type: "size" };
    const { body } = await post([webItem, all, { ...webItem, name: "last" }]);
    expect(body.data.map(({ name }) => name)).to.deep.equal([
      "stream.web.size",
      ...["segsize.Z.size", "segsize.s1.size", "segsize.s2.size"],
      "last",
    ]);
    expect(body.data.map(({ values }) => values.length > 0)).to.deep.equal([true, false, true, false, true]);
    const query = await get("dimension=segment&dimension_id=all_segments&dimension_type=size");
    expect(query.body.data.map(({ dimension_id }) => dimension_id)).to.deep.equal(["Z", "s1", "s2"]);
    const stream = await get("dimension=stream&dimension_id=all_segments&dimension_type=size");
    expect(stream.body.data.map(({ dimension_id }) => dimension_id)).to.deep.equal(["all_segments"]);
  });

  it("has an ETag that changes only if its values can have changed", async () => {
    const query = "dimension=stream&dimension_id=tag&dimension_type=size&range=4h&interval=1h";
    const tag = async () => (await get(query)).headers.get("etag");
    const point = pointOf("stream", "tag", 1, now - HOUR);
    await write([point]);
    const first = await tag();
    expect(await tag()).to.equal(first);
    await write([{ ...point, dimension_id: "another" }]);
    await write([{ ...point, ts: now - 40 * HOUR }]);
    at = now + 20 * 60_000;
    expect(await tag()).to.equal(first);
    await write([{ ...point, value: 2 }]);
    expect(await tag()).not.to.equal(first);
    await write([point]);
    expect(await tag()).to.equal(first);
  });
});

describe("a repeated metric response", () => {
  let now: number;

  beforeEach(() => {
    now = Date.parse("2026-03-02T10:17:00Z");
  });
  const service = serviceOfEachTest({ roles: ["api"] }, { clock: () => now });

  const web = { dimension: "stream", dimension_id: "web", dimension_type: "size" };
  const webQuery = `/api/metric?${new URLSearchParams(web)}`;

  it("contains no slot that metrics.retention has expired, for any form of request", async () => {
    // The bucket on a server goes by the real time.
    now = Date.now();
    const window = { interval: "1h", startdate: String(now - 99 * HOUR), enddate: String(now + HOUR) };
    const fixed = `${webQuery}&${new URLSearchParams(window)}`;
    const keeping = await startService({ metrics: { retention: "2d" } }, { clock: () => now });
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
    const points = [47, 1].map((hours) => ({ ...web, ts: now - hours * HOUR, value: hours }));
    await writePoints(keeping, points);
    for (const _ of [1, 2, 3]) expect(await ask()).to.deep.equal(Array(4).fill([47, 1]));
    const tag = await tagOf();
    expect(await tagOf()).to.equal(tag);
    now += 2 * HOUR;
    for (const _ of [1, 2, 3]) expect(await ask()).to.deep.equal(Array(4).fill([1]));
    expect(await tagOf()).not.to.equal(tag);
    expect((await keeping.fetch(fixed, { headers: { "if-none-match": tag } })).status).to.equal(200);
    now += 47 * HOUR;
    for (const _ of [1, 2, 3]) expect(await ask()).to.deep.equal(Array(4).fill([]));
  });

  it("contains the current segments of the catalogue, also if there were none before", async () => {
    const window = { startdate: now - 30 * HOUR, enddate: now };
    const every = { dimension: "segment", dimension_id: "all_segments", dimension_type: "size", ...window };
    const other = { dimension: "stream", dimension_id: "web", dimension_type: "size", ...window };
    for (const batch of [[every], [other, every]]) {
      for (const _ of [1, 2, 3]) expect(await post(batch)).to.have.length(batch.length - 1);
    }
    await service.fetch("/api/segment/new", { method: "PUT", json: {} });
    for (const batch of [[every], [other, every]]) expect(await post(batch)).to.have.length(batch.length);
  });

  async function post(json: unknown): Promise<readonly Series[]> {
    return ((await (await service.fetch("/api/metric", { method: "POST", json })).json()) as Answer).data;
  }
});

function valuesOf(answer: unknown): number[] {
  return (answer as Answer).data[0]?.values.map(({ value }) => value) ?? [];
}
