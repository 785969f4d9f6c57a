import { expect } from "chai";
import { collectThrough, deleteEntity, pointOf, writePoints } from "../support/requests.js";
import { serviceOfEachTest } from "../support/service.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2025, 0, 8, 10);

interface Row {
  readonly id: string;
  readonly stream: string;
  readonly dimension_id: string;
  readonly request_id: string;
  readonly size: number;
  readonly now: number | null;
  readonly before: number | null;
  readonly compared?: number | null;
  readonly since?: string;
  readonly newest_at?: string | null;
  readonly silent?: boolean;
}

interface Page {
  readonly data: readonly Row[];
  readonly meta: {
    readonly next: string | null;
    readonly total: number;
    readonly silent?: number;
  };
}

describe("lists that are searched and sorted", () => {
  let now: number;
  beforeEach(() => {
    now = START + HOUR / 2;
  });
  const service = serviceOfEachTest({ roles: ["api"] }, { clock: () => now });

  const page = async (path: string) => {
    const response = await service.fetch(path);
    expect(response.status, path).to.equal(200);
    return (await response.json()) as Page;
  };
  const idOf = (row: Row) => row.id ?? row.stream ?? row.dimension_id ?? row.request_id;
  const ids = async (path: string) => (await page(path)).data.map(idOf);
  /** The ids of every page; `between` runs after each. */
  const walk = async (path: string, between: () => Promise<void> = async () => {}) => {
    const found: string[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const { data, meta }: Page = await page(`${path}${next === "" ? "" : `&after=${encodeURIComponent(next)}`}`);
      found.push(...data.map(idOf));
      next = meta.next;
      await between();
    }
    return found;
  };
  const put = async (path: string, json: object) =>
    expect((await service.fetch(path, { method: "PUT", json })).status).to.equal(200);
  const putSegments = async (names: Readonly<Record<string, string>>) => {
    for (const [id, name] of Object.entries(names)) await put(`/api/segment/${encodeURIComponent(id)}`, { name });
  };
  const write = (...points: object[]) => writePoints(service, points);
  const send = (stream: string, ...messages: object[]) =>
    collectThrough(service, messages, `${stream}?timestamp_field=at`);

  it("find segments by a part of the id or the name in any case, and count them", async () => {
    await putSegments({ a: "Newsletter", "news-b": "B", c: "Ünïcode NEWS", d: "Other" });
    const found = await page("/api/segment?q=NEWS");
    expect(found.data.map(idOf)).to.deep.equal(["a", "c", "news-b"]);
    expect(found.meta).to.deep.equal({ next: null, total: 3 });
    expect(await ids("/api/segment?q=%C3%9CN%C3%8F")).to.deep.equal(["c"]);
    expect((await page("/api/segment?q=zzz")).meta).to.deep.equal({ next: null, total: 0 });
    expect((await page("/api/segment?limit=1")).meta).to.deep.equal({ next: "a", total: 4 });
    expect((await page("/api/segment?q=&table=account")).meta.total).to.equal(0);
    expect(await walk("/api/segment?q=news&limit=1")).to.deep.equal(["a", "c", "news-b"]);
    expect(await walk("/api/segment?q=news&limit=1&order=desc")).to.deep.equal(["news-b", "c", "a"]);
    expect(await walk("/api/segment?limit=3&order=desc")).to.deep.equal(["news-b", "d", "c", "a"]);
  });

  it("contain the first value of a window with its time if a series begins later, and one row by its id", async () => {
    await putSegments({ a: "A", ab: "AB", c: "C" });
    await put("/api/experience/x", { audience: "a", goal: "ab" });
    const reach = (type: string, value: number, ts: number) => ({
      ...pointOf("experience", "x", value, ts),
      dimension_type: type,
    });
    await write(
      ...[pointOf("segment", "a", 4, START - DAY), pointOf("segment", "a", 10, START)],
      ...[pointOf("segment", "ab", 2, START - 3 * DAY), pointOf("segment", "ab", 3, START)],
      ...[reach("actualreach", 1, START - DAY), reach("potentialreach", 4, START - DAY)],
      ...[reach("actualreach", 1, START), reach("potentialreach", 2, START)],
    );
    const window = `startdate=${START - 3 * DAY}&enddate=${START + 2 * HOUR}`;
    const rows = async (path: string) =>
      (await page(`${path}${window}`)).data.map(({ id, now, before, since }) => [id, now, before, since]);
    const later = new Date(START - DAY).toISOString();
    expect(await rows("/api/segment?sort=change&order=desc&")).to.deep.equal([
      ["a", 10, 4, later],
      ["ab", 3, 2, undefined],
      ["c", null, null, undefined],
    ]);
    expect(await rows("/api/segment?id=a&")).to.deep.equal([["a", 10, 4, later]]);
    expect(await rows("/api/experience?id=x&")).to.deep.equal([["x", 0.5, 0.25, later]]);
    expect((await page("/api/segment?id=b")).meta).to.deep.equal({ next: null, total: 0 });
    await write(pointOf("segment", "c", 9, START - 50 * DAY), pointOf("segment", "c", 8, START - 40 * DAY));
    const [ended] = (await page(`/api/segment?id=c&startdate=${START - 60 * DAY}&enddate=${START}`)).data;
    expect([ended?.now, ended?.before], "a series that ended long before the window").to.deep.equal([8, 9]);
  });

  it("sort segments by name, size and change, and contain the newest saved size and the size a range earlier", async () => {
    await putSegments({ a: "y", b: "x", c: "z", d: "w", e: "x" });
    const slot = START;
    await write(
      ...[pointOf("segment", "a", 10, slot), pointOf("segment", "a", 5, slot - DAY)],
      ...[pointOf("segment", "b", 30, slot - 2 * HOUR), pointOf("segment", "b", 60, slot - 2 * HOUR - DAY)],
      ...[pointOf("segment", "c", 20, slot), pointOf("segment", "c", 1, slot - 2 * HOUR)],
      pointOf("segment", "d", 7, slot - 20 * DAY),
    );
    await send("web", { user_id: "1", segments: ["a"] });
    expect(await ids("/api/segment?sort=name")).to.deep.equal(["d", "b", "e", "a", "c"]);
    expect(await ids("/api/segment?sort=name&order=desc")).to.deep.equal(["c", "a", "b", "e", "d"]);
    expect(await ids("/api/segment?sort=size")).to.deep.equal(["d", "a", "c", "b", "e"]);
    expect(await ids("/api/segment?sort=size&order=desc")).to.deep.equal(["b", "c", "a", "d", "e"]);
    expect(await ids("/api/segment?sort=change&range=1d")).to.deep.equal(["b", "a", "c", "d", "e"]);
    expect(await ids("/api/segment?sort=change&range=24h&order=desc")).to.deep.equal(["a", "b", "c", "d", "e"]);
    const { data, meta } = await page("/api/segment?range=1d");
    expect(meta).to.deep.equal({ next: null, total: 5 });
    const values = data.map(({ id, now, before, size }) => [id, now, before, size]);
    expect(values).to.deep.equal([
      ["a", 10, 5, 1],
      ["b", 30, 60, 0],
      ["c", 20, null, 0],
      ["d", 7, null, 0],
      ["e", null, null, 0],
    ]);
    expect((await page("/api/segment?sort=size")).data[0]).to.have.keys(
      ...["id", "name", "table", "size", "by_rule", "computing"],
    );
    // c has no value a day earlier: by movement, it is last in either order.
    expect(await ids("/api/segment?sort=movement&range=1d&order=desc")).to.deep.equal(["a", "b", "c", "d", "e"]);
    expect(await ids("/api/segment?sort=movement&range=1d")).to.deep.equal(["b", "a", "c", "d", "e"]);
  });

  it("contain the values at the end and start of a window of dates, and sort by the size of the change", async () => {
    await putSegments({ a: "a", b: "b", c: "c", d: "d" });
    const [first, last] = [START - 4 * DAY, START - DAY];
    const at = (ts: number, values: Readonly<Record<string, number>>) =>
      Object.entries(values).map(([id, value]) => pointOf("segment", id, value, ts));
    await write(
      ...[...at(first, { a: 10, b: 10, c: 10 }), ...at(last, { a: 13, b: 5, c: 10, d: 2 })],
      ...at(START, { a: 99, b: 99, c: 99, d: 99 }),
    );
    const dates = `startdate=${first}&enddate=${last + 1}`;
    const { data } = await page(`/api/segment?${dates}`);
    const values = data.map(({ id, now, before }) => [id, now, before]);
    expect(values).to.deep.equal([
      ["a", 13, 10],
      ["b", 5, 10],
      ["c", 10, 10],
      ["d", 2, null],
    ]);
    const largest = await page(`/api/segment?sort=movement&${dates}&order=desc&limit=3`);
    expect(largest.data.map(({ id }) => id)).to.deep.equal(["b", "a", "c"]);
    expect(largest.meta, "only the first entries, with the number of all").to.deep.equal({ next: null, total: 4 });
    expect(await ids(`/api/segment?sort=change&${dates}&order=desc`)).to.deep.equal(["a", "c", "b", "d"]);
    await write(...at(first, { e: 1_000 }), ...at(last, { e: 1_004 }));
    await putSegments({ e: "e" });
    expect(await ids(`/api/segment?sort=difference&${dates}&order=desc`)).to.deep.equal(["e", "a", "c", "b", "d"]);
    expect(await ids(`/api/segment?sort=distance&${dates}&order=desc`)).to.deep.equal(["b", "e", "a", "c", "d"]);
    await service.fetch("/api/segment/e", { method: "DELETE" });
    const text = (ms: number) => new Date(ms).toISOString();
    expect((await page(`/api/segment?startdate=${text(first)}&enddate=now-22h`)).data).to.deep.equal(data);
  });

  it("return each segment once, while sizes change and segments come and go", async () => {
    for (const [turn, query] of ["sort=name", "sort=name&order=desc", "order=desc", "q=s"].entries()) {
      const idAt = (i: number | string) => `s${turn}-${String(i).padStart(2, "0")}`;
      const all = Array.from({ length: 25 }, (_, i) => idAt(i));
      // Three segments share each name, so that pages end within a name.
      for (const [i, id] of all.entries())
        await service.service.stores.catalogue.putSegment({ id, name: `s${(i * 7) % 9}`, table: "user" });
      const sizes = (of: (i: number) => number) =>
        write(
          ...all.flatMap((id, i) => [pointOf("segment", id, of(i), START), pointOf("segment", id, 100, START - DAY)]),
        );
      await sizes((i) => i);
      let round = 0;
      const found = await walk(`/api/segment?${query}&limit=4`, async () => {
        round += 1;
        await sizes((i) => (i * 7 * round) % 25);
        if (round === 1) await service.fetch(`/api/segment/${idAt(13)}`, { method: "DELETE" });
        await service.service.stores.catalogue.putSegment({ id: idAt(`new${round}`), name: "s4", table: "user" });
      });
      expect(new Set(found).size, query).to.equal(found.length);
      const lasting = all.filter((id) => id !== idAt(13));
      expect(found.filter((id) => lasting.includes(id)).toSorted(), query).to.deep.equal(lasting);
      expect(new Set(await walk(`/api/segment?${query}&limit=7`)), query).to.include.all.keys(...lasting);
    }
  });

  it("contain the conversion rate of experiences, now and a range earlier, and sort them by its change", async () => {
    await putSegments({ s: "s" });
    for (const id of ["a", "b", "c", "d"])
      await put(`/api/experience/${id}`, { name: `X${id}`, audience: "s", goal: "s" });
    const reach = (id: string, potential: number, actual: number | undefined, ts: number) => [
      pointOf("experience", id, potential, ts, "potentialreach"),
      ...(actual === undefined ? [] : [pointOf("experience", id, actual, ts, "actualreach")]),
    ];
    await write(
      ...[...reach("a", 10, 5, START), ...reach("a", 10, 1, START - DAY)],
      ...[...reach("b", 0, 0, START), ...reach("b", 4, 1, START - HOUR), ...reach("b", 4, 2, START - HOUR - DAY)],
      ...[...reach("c", 8, undefined, START), pointOf("experience", "c", 3, START - DAY, "actualreach")],
    );
    const { data, meta } = await page("/api/experience?range=1d");
    expect(data.map(({ id, now, before }) => [id, now, before])).to.deep.equal([
      ["a", 0.5, 0.1],
      ["b", 0.25, 0.5],
      ["c", 0, null],
      ["d", null, null],
    ]);
    expect(meta).to.deep.equal({ next: null, total: 4 });
    expect(await ids("/api/experience?range=1d&sort=change")).to.deep.equal(["b", "a", "c", "d"]);
    expect(await ids("/api/experience?range=1d&sort=movement")).to.deep.equal(["b", "a", "c", "d"]);
    expect(await ids("/api/experience?range=1d&sort=change&order=desc")).to.deep.equal(["a", "b", "c", "d"]);
    expect(await ids("/api/experience?sort=name&order=desc&q=x")).to.deep.equal(["d", "c", "b", "a"]);
    expect((await page("/api/experience?q=XB")).meta.total).to.equal(1);
    expect((await page("/api/experience")).data[0]).to.have.keys("id", "name", "group", "audience", "goal");
  });

  it("contain the messages of streams in the last whole hours, and sort by them", async () => {
    await send("Web", { user_id: "1" });
    now += 1_000;
    await send("app", { user_id: "1" });
    now += 1_000;
    await send("web.old", { user_id: "1" });
    const at = (id: string, ago: number, count: number) => pointOf("stream", id, count, START - ago * HOUR);
    await write(at("Web", 1, 2), at("Web", 3, 4), at("app", 2, 6), at("app", 4, 2), at("web.old", 30, 1));
    const { data, meta } = await page("/api/stream?range=2h");
    expect(data.map(({ stream, now, before }) => [stream, now, before])).to.deep.equal([
      ["Web", 2, 4],
      ["app", 6, 2],
      ["web.old", 0, 0],
    ]);
    expect(meta).to.deep.equal({ next: null, total: 3 });
    // A range of minutes is rounded up to whole hours.
    expect((await page("/api/stream?range=61m")).data.map((row) => row.now)).to.deep.equal([2, 6, 0]);
    expect(await ids("/api/stream?sort=change&range=2h")).to.deep.equal(["Web", "web.old", "app"]);
    expect(await ids("/api/stream?sort=movement&range=2h&order=desc")).to.deep.equal(["app", "Web", "web.old"]);
    expect(await ids("/api/stream?sort=last_message_at&order=desc")).to.deep.equal(["web.old", "app", "Web"]);
    expect(await ids("/api/stream?sort=day&order=desc")).to.deep.equal(["app", "Web", "web.old"]);
    expect(await ids("/api/stream?q=WEB")).to.deep.equal(["Web", "web.old"]);
    expect(await walk("/api/stream?order=desc&limit=1")).to.deep.equal(["web.old", "app", "Web"]);
    expect(await walk("/api/stream?sort=name&order=desc&limit=1")).to.deep.equal(["web.old", "app", "Web"]);
    expect((await page("/api/stream")).data[0]).to.have.keys(
      ...["stream", "last_message_at", "newest_at", "silent", "slot", "day"],
    );
  });

  it("compare only the hours that both windows of a stream have, and sort by this change", async () => {
    const hours = (id: string, ago: readonly number[], count: number) =>
      ago.map((hour) => pointOf("stream", id, count, START - hour * HOUR));
    const every = (from: number) => Array.from({ length: from }, (_, i) => i + 1);
    await write(
      // Ten hours, of which the window before has two; an hour without messages counts as 0.
      ...hours("begun", [10, 9, 8, 7, 6, 5, 4, 3], 10),
      ...hours("late", every(5), 10),
      ...hours("nightly", [40, 10, 2], 10),
      ...hours("steady", every(40), 10),
    );
    const { data } = await page("/api/stream?range=8h&sort=difference&order=desc");
    const since = new Date(START - 2 * HOUR).toISOString();
    expect(data.map((row) => [row.stream, row.now, row.before, row.compared, row.since])).to.deep.equal([
      ["nightly", 10, 10, 10, undefined],
      ["steady", 80, 80, 80, undefined],
      ["begun", 60, 20, 0, since],
      ["late", 50, 0, null, undefined],
    ]);
    expect(await ids("/api/stream?range=8h&sort=change")).to.deep.equal(["begun", "nightly", "steady", "late"]);
    expect((await ids("/api/stream?range=8h&sort=distance&order=desc"))[0]).to.equal("begun");
    expect((await ids("/api/stream?range=8h&sort=movement&order=desc"))[0]).to.equal("begun");
    // From midnight to 10:00, of which the first eight hours are complete intervals.
    const dates = `startdate=${new Date(START - 10 * HOUR).toISOString()}&enddate=${new Date(START).toISOString()}`;
    const [steady] = (await page(`/api/stream?id=steady&${dates}&interval=4h`)).data;
    expect([steady?.now, steady?.compared, steady?.before]).to.deep.equal([100, 80, 80]);
  });

  it("name the newest data of a stream, and sort and count the streams that are silent", async () => {
    await send("stopped", { user_id: "1" });
    const at = now;
    now += 9 * HOUR;
    await send("alive", { user_id: "1" });
    const written = (id: string, ago: readonly number[]) =>
      ago.map((hour) => pointOf("stream", id, 1, START + (9 - hour) * HOUR));
    await write(
      ...written("points", [1, 2, 3]),
      ...written("daily", [12, 36]),
      ...written("ended", [5, 6, 7]),
      ...written("old", [24 * 50]),
    );
    const { data, meta } = await page("/api/stream?sort=silence&order=desc");
    const text = (ms: number) => new Date(ms).toISOString();
    expect(data.map((row) => [row.stream, row.silent, row.newest_at])).to.deep.equal([
      ["old", true, text(START + 10 * HOUR - 24 * 50 * HOUR)],
      ["stopped", true, text(at)],
      ["ended", true, text(START + 5 * HOUR)],
      ["daily", false, text(START - 2 * HOUR)],
      ["points", false, text(START + 9 * HOUR)],
      ["alive", false, text(now)],
    ]);
    expect(meta).to.deep.equal({ next: null, total: 6, silent: 3 });
    expect((await page("/api/stream?sort=now&range=1d&q=s")).meta).to.include({ total: 2, silent: 1 });
    expect((await page("/api/stream?id=ended")).data[0]?.silent).to.equal(true);
  });

  it("find series by a part of their id, in either order, and count them", async () => {
    await write(
      pointOf("segment", "Alpha", 1, START),
      pointOf("segment", "beta alpha", 1, START),
      pointOf("stream", "alpha", 1, START),
      pointOf("stream", "b", 1, START),
    );
    const all = ["Alpha", "beta alpha", "alpha", "b"];
    expect(await ids("/api/series")).to.deep.equal(all);
    expect((await page("/api/series?limit=1")).meta).to.deep.equal({ next: "segment.Alpha", total: 4 });
    for (const sort of ["id", "name"])
      expect(await walk(`/api/series?limit=1&sort=${sort}&order=desc`)).to.deep.equal(all.toReversed());
    const found = await walk("/api/series?limit=1&q=ALPHA&order=desc");
    expect(found).to.deep.equal(all.slice(0, 3).toReversed());
    expect((await page("/api/series?q=alpha&dimension=segsize&prefix=b")).meta).to.deep.equal({ next: null, total: 1 });
    await write(pointOf("stream", "alphabet", 1, START));
    expect((await page("/api/series?q=alpha")).meta.total).to.equal(4);
  });

  it("return deletions in either order, and count the deletions of a state", async () => {
    const accepted: string[] = [];
    for (const value of ["a", "b", "c"])
      accepted.push((await deleteEntity(service, `user/user_id/${value}`)).body.data.request_id);
    expect(await walk("/api/deletion?limit=1")).to.deep.equal(accepted.toReversed());
    expect(await walk("/api/deletion?limit=1&order=asc&sort=id")).to.deep.equal(accepted);
    expect((await page("/api/deletion?limit=2")).meta).to.include({ next: accepted[1], total: 3 });
    const { reasons } = (await page("/api/deletion?limit=1&reasons=true")).meta as { reasons?: { requests: number }[] };
    expect(reasons?.reduce((sum, { requests }) => sum + requests, 0)).to.equal(3);
    expect((await page("/api/deletion?problem=crm%20answered%20500")).meta.total).to.equal(0);
    expect((await page("/api/deletion?state=completed")).meta).to.include({ next: null, total: 0 });
    expect((await page("/api/deletion?state=all&order=desc")).meta.total).to.equal(3);
  });
});
