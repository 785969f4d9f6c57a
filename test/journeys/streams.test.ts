import { expect } from "chai";
import { collectThrough, pointOf, valuesOf, writePoints } from "../support/requests.js";
import { serviceOfEachTest } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const START = Date.UTC(2025, 0, 6, 10);

interface Page {
  readonly data: readonly {
    readonly stream: string;
    readonly last_message_at: string | null;
    readonly slot: { readonly ts: string; readonly count: number };
    readonly day: number;
    readonly now: number;
    readonly before: number;
  }[];
  readonly meta: { readonly next: string | null };
}

describe("the list of streams", () => {
  let now: number;
  beforeEach(() => {
    now = START + HOUR / 2;
  });
  const service = serviceOfEachTest({}, { clock: () => now, recorderTickMs: 5 });

  const send = (stream: string, ...messages: object[]) =>
    collectThrough(service, messages, `${stream}?timestamp_field=at`);
  const list = async (query = "") => {
    const response = await service.fetch(`/api/stream${query}`);
    const page = (await response.json()) as Page;
    expect(response.status, JSON.stringify(page)).to.equal(200);
    return page;
  };

  it("is empty at first, and contains new messages at once, in the slot of their event time", async () => {
    expect(await list()).to.deep.equal({ status: 200, message: "success", data: [], meta: { next: null, total: 0 } });
    await send("web", { user_id: "a" }, { user_id: "b", at: START - HOUR }, { user_id: "c", at: START - 25 * HOUR });
    const [web] = (await list()).data;
    const slot = { ts: String(START), count: 1 };
    expect(web).to.deep.include({ stream: "web", last_message_at: new Date(now).toISOString(), slot });
    await until("the ended hours are saved", async () => (await list()).data[0]?.day === 1);
  });

  it("includes an ended hour in the last 24 once it is saved", async () => {
    await send("web", { user_id: "a" }, { user_id: "b" });
    for (const hour of [1, 2, 24, 25]) {
      now = START + hour * HOUR + 1;
      if (hour === 1) await until("the hour is saved", async () => (await list()).data[0]?.day === 2);
      const expected = { slot: { ts: String(START + hour * HOUR), count: 0 }, day: hour <= 24 ? 2 : 0 };
      expect((await list()).data[0], `${hour} h later`).to.deep.include(expected);
    }
  });

  it("contains streams with only points, and streams whose messages were erased", async () => {
    await send("web", { user_id: "a" });
    await writePoints(service, [pointOf("stream", "points", 7.5, START), pointOf("stream", "a", 3, START - HOUR)]);
    const before = await list();
    await service.fetch("/api/entity/user/user_id/a", { method: "DELETE" });
    const ts = String(START);
    const newest = { newest_at: new Date(now).toISOString(), silent: false };
    const ended = { newest_at: new Date(START).toISOString(), silent: false };
    expect(before.data).to.deep.equal([
      { stream: "a", last_message_at: null, ...ended, slot: { ts, count: 0 }, day: 3 },
      { stream: "points", last_message_at: null, ...newest, slot: { ts, count: 7.5 }, day: 0 },
      { stream: "web", last_message_at: newest.newest_at, ...newest, slot: { ts, count: 1 }, day: 0 },
    ]);
    expect(await list()).to.deep.equal(before);
    expect((await list("?q=A&limit=1")).meta).to.deep.equal({ next: null, total: 1 });
    const names = async (query: string) => (await list(query)).data.map(({ stream }) => stream);
    expect(await names("?sort=last_message_at&order=desc")).to.deep.equal(["web", "a", "points"]);
    expect(await names("?limit=1&after=a")).to.deep.equal(["points"]);
  });

  it("reads only a part of the streams for one of them, and each once if they fit on a page", async () => {
    const ids = Array.from({ length: 1_200 }, (_, i) => `s${String(i).padStart(4, "0")}`);
    const write = (ids: readonly string[]) =>
      writePoints(
        service,
        ids.map((id) => pointOf("stream", id, 1, START - HOUR)),
      );
    await write(["t", "té", "tz"]);
    await send("t.counted", { user_id: "a" });
    const { series } = service.service.stores;
    const { list: listSeries } = series;
    let read = 0;
    series.list = async (...asked) => {
      const found = await listSeries(...asked);
      read += found.length;
      return found;
    };
    expect([(await list()).meta, read]).to.deep.equal([{ next: null, total: 4 }, 3]);
    await write(ids);
    for (const [query, names, total, most] of [
      ["?id=t.counted", ["t.counted"], 1, 10],
      ["?id=t%C3%A9", ["té"], 1, 10],
      ["?id=t", ["t"], 1, 1_300],
      ["?id=s01", [], 0, 1_000],
      ["?id=u", [], 0, 1_300],
      ["?after=s9999", ["t", "t.counted", "tz", "té"], 1_204, 1_300],
    ] as const) {
      read = 0;
      const { data, meta } = await list(query);
      expect([data.map(({ stream }) => stream), meta], query).to.deep.equal([names, { next: null, total }]);
      expect(read, query).to.be.at.most(most);
    }
    series.list = listSeries;
  });

  it("has the sums of /api/metric: the values of clients, or else the recorded counts", async () => {
    const at = (ago: number, count: number) => Array(count).fill({ user_id: "a", at: START - ago * HOUR + 1 });
    await send("web", ...at(1, 2), ...at(2, 4), ...at(5, 8), ...at(30, 3));
    await writePoints(service, [
      pointOf("stream", "web", 100, START - HOUR),
      pointOf("stream", "web", 50, START - 3 * HOUR),
      pointOf("stream", "web", 9, START),
    ]);
    const sum = async (startdate: number, enddate: number) => {
      const web = { dimension: "stream", dimension_id: "web", dimension_type: "size", interval: "1h" };
      const values = await valuesOf(service, { ...web, startdate, enddate });
      return values.reduce((total, [, value]) => total + value, 0);
    };
    await until("every count is saved", async () => (await sum(START - 40 * HOUR, START)) === 165);
    const [row] = (await list("?range=2h")).data;
    expect(row).to.deep.include({ day: 162, now: 104, before: 50, slot: { ts: String(START), count: 9 } });
    await send("web", { user_id: "a", at: START + 1 });
    expect((await list()).data[0]?.slot.count).to.equal(9);
    for (const [from, to] of [
      [START - 6 * HOUR, START],
      [START - 3 * HOUR - 1, START - HOUR + 1],
      [START - 2 * HOUR, now],
    ] as const) {
      const [dated] = (await list(`?startdate=${from}&enddate=${to}`)).data;
      const [first, end] = [from, to].map((ms) => Math.ceil(ms / HOUR) * HOUR) as [number, number];
      const expected = { now: await sum(first, end), before: await sum(2 * first - end, first) };
      expect(dated, `${from} to ${to}`).to.deep.include(expected);
    }
  });
});
