import { expect } from "chai";
import { pointOf, writePoints } from "../support/requests.js";
import { type FetchOptions, serviceOfEachTest } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const START = Date.UTC(2025, 0, 8, 10);

interface Series {
  readonly dimension_id: string;
  readonly name: string;
  readonly is_cached: boolean;
  readonly complete_until: string;
  readonly next_save_at: string;
  readonly values: readonly { readonly value: number; readonly ts: string }[];
  readonly errors?: readonly { readonly code: string }[];
}

describe("the series of all streams", () => {
  let now: number;
  beforeEach(() => {
    now = START + HOUR / 2;
  });
  const service = serviceOfEachTest({ roles: ["api"] }, { clock: () => now });

  const point = (id: string, value: number, hoursAgo: number) => pointOf("stream", id, value, START - hoursAgo * HOUR);
  const write = (...points: object[]) => writePoints(service, points);
  const all = { dimension: "stream", dimension_id: "all_streams", dimension_type: "size", range: "5h", interval: "1h" };
  const read = async (...asked: object[]) => {
    const response = await service.fetch("/api/metric", { method: "POST", json: asked });
    return { status: response.status, data: ((await response.json()) as { data: Series[] }).data };
  };
  const values = async (asked: object = all) =>
    Object.fromEntries(
      ((await read(asked)).data[0] as Series).values.map(({ value, ts }) => [(START - Number(ts)) / HOUR, value]),
    );
  const isCached = async (asked: object = all) => (await read(asked)).data[0]?.is_cached;

  it("has in each slot the sum over all streams", async () => {
    expect(await values()).to.deep.equal({});
    await write(point("web", 1, 1), point("web", 2, 2), point("app", 10, 2), point("app", 20, 3));
    const { data } = await read(all, { ...all, dimension_id: "web" }, { ...all, name: "Sum" });
    expect(data.map(({ name, dimension_id }) => [name, dimension_id])).to.deep.equal([
      ["stream.all_streams.size", "all_streams"],
      ["stream.web.size", "web"],
      ["Sum", "all_streams"],
    ]);
    expect(await values()).to.deep.equal({ 1: 1, 2: 12, 3: 20 });
    expect(await values({ ...all, interval: "6h", range: "6h" })).to.deep.equal({ 4: 33 });
    expect(await values({ ...all, aggregation: "max", interval: "6h", range: "6h" })).to.deep.equal({ 4: 20 });
    const query = "dimension=stream&dimension_id=all_streams&dimension_type=size&range=5h&interval=1h";
    const one = (await (await service.fetch(`/api/metric?${query}`)).json()) as { data: Series[] };
    expect(one.data[0]?.values).to.deep.equal(data[0]?.values);
  });

  it("is answered from memory until a stream is written, including a new one", async () => {
    // If processes share the stores, a write is announced after its response.
    const isAgainCached = () => until("it is answered from memory", async () => (await isCached()) === true);
    await write(point("web", 1, 1));
    await isAgainCached();
    expect(await isCached({ ...all, interval: "2h" })).to.equal(true);
    for (const [n, id] of ["web", "app", "new"].entries()) {
      await write(point(id, 10 ** n, 2));
      expect(await isCached(), id).to.equal(false);
      expect((await values())[2], id).to.equal([1, 11, 111][n]);
      await isAgainCached();
    }
    await write({ ...point("web", 5, 2), dimension: "segment" });
    expect((await values())[2]).to.equal(111);
  });

  it("is complete a minute after the end of a slot, when all streams are saved", async () => {
    now = START + 1_000;
    await write(point("web", 1, 1));
    const [first] = (await read(all)).data;
    expect(first?.complete_until).to.equal(String(START - HOUR));
    expect(first?.next_save_at).to.equal(String(now + 5_000));
    now = START + 60_000;
    const [then] = (await read(all)).data;
    expect([then?.complete_until, then?.next_save_at]).to.deep.equal([String(START), String(START + HOUR)]);
  });

  it("reads the slots of all streams, up to the limit of a response", async () => {
    await write(...["a", "b", "c", "d"].map((id) => point(id, 1, 2)));
    // 4 streams × 130 years of hours are 4.6 million slots, 4 × 150 years 5.3 million.
    const years = (count: number) => ({ ...all, range: `${count}y`, interval: "1y" });
    expect((await read(years(130))).status).to.equal(200);
    expect((await read(years(150))).status).to.equal(400);
    expect((await read(years(75), years(75))).status).to.equal(400);
  });

  it("has a name that no stream or segment may have, as the series of all segments has", async () => {
    const post = (path: string, json: unknown): FetchOptions & { path: string } => ({ path, method: "POST", json });
    for (const id of ["all_streams", "all_segments"]) {
      const refused = [
        ...["stream", "segment"].flatMap((dimension) => [
          post("/api/metric/points", [{ ...point(id, 1, 1), dimension }]),
          {
            path: "/api/v2/write?precision=ms",
            method: "POST",
            body: `${dimension},dimension_id=${id} value=1 ${START - HOUR}`,
          },
        ]),
        post(`/collect/json/${id}`, { user_id: "1" }),
        post("/collect/json/web", { user_id: "1", segments: [id] }),
        { path: `/api/segment/${id}`, method: "PUT", json: {} },
      ];
      for (const { path, ...init } of refused)
        expect((await service.fetch(path, init)).status, JSON.stringify([path, init])).to.equal(400);
      const { path, ...init } = post("/api/metric/points", [{ ...point(id, 1, 1), dimension: "experience" }]);
      expect((await service.fetch(path, init)).status).to.equal(200);
    }
  });
});
