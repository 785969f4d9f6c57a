import { expect } from "chai";
import { serviceClient } from "../../src/commands/running-service.js";
import { streamRequests, syntheticRequests } from "../../src/commands/synthetic-data.js";
import { membersOf } from "../../src/commands/synthetic-members.js";
import { syntheticSeries } from "../../src/commands/synthetic-series.js";
import { largeSet, smallSet } from "../../src/commands/synthetic-sets.js";
import { serviceOfEachTest, startService } from "../support/service.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Series {
  readonly dimension_id: string;
  readonly values: readonly { readonly value: number; readonly ts: string }[];
}

const run = async (requests: readonly (() => Promise<unknown>)[]) => {
  for (const request of requests) await request();
};

describe("synthetic data", function () {
  this.timeout(60_000);
  const service = serviceOfEachTest({ roles: ["api"] });

  const client = () => serviceClient(service.url, service.key);
  const fetchSeries = async (query: object) =>
    ((await (await service.fetch("/api/metric", { method: "POST", json: query })).json()) as { data: Series[] }).data;

  it("fills a service through its API: series up to now, a catalogue, people", async () => {
    await run(syntheticRequests(client(), 2, Date.now()));

    const sizes = await fetchSeries({
      dimension: "segment",
      dimension_id: "all_segments",
      dimension_type: "size",
      range: "2w",
      interval: "1d",
    });
    expect(sizes.map(({ dimension_id }) => dimension_id)).to.have.members(smallSet.segments.map(({ id }) => id));
    for (const { values } of sizes) expect(values.length).to.be.within(14, 15);
    for (const { id } of smallSet.experiences) {
      const [rate] = await fetchSeries({
        dimension: "experience",
        dimension_id: id,
        dimension_type: "conversionrate",
        range: "6h",
      });
      for (const { value } of rate?.values ?? []) expect(value).to.be.within(0.01, 1);
    }
    const [volumes] = await fetchSeries({
      dimension: "stream",
      dimension_id: "web",
      dimension_type: "size",
      range: "1w",
      interval: "1h",
    });
    expect(volumes?.values.length).to.be.at.least(166);

    const person = await (await service.fetch("/api/me/email/visitor-1%40example.com")).json();
    expect((person as { data: { segments: string[] } }).data.segments).to.include("All visitors");
    const members = (await (await service.fetch("/api/segment/sizes")).json()) as {
      data: { id: string; size: number }[];
    };
    for (const { id, size } of members.data) expect(size, id).to.equal(membersOf(id));
  });

  it("continues with one request a week, which writes streams alone", async () => {
    const requests = streamRequests(client(), 1, Date.now());
    expect(requests).to.have.length(1);
    await run(requests);
    const series = (await (await service.fetch("/api/series")).json()) as { data: { dimension: string }[] };
    expect(series.data.map(({ dimension }) => dimension)).to.deep.equal(["stream", "stream", "stream"]);
  });

  it("has 40 days, a gap of a stream in each week, segments that grow and fall by those who join and leave", () => {
    const now = Date.UTC(2026, 0, 1, 12, 34);
    const blocks = syntheticSeries(6, now);
    const valuesOf = (id: string, type = "size") => {
      const values = new Map<number, number | null>();
      for (const { series, ts, values: rows } of blocks) {
        const row = rows[series.findIndex((one) => one.dimension_id === id && one.dimension_type === type)];
        for (const [at, slot] of ts.entries()) if (row !== undefined) values.set(slot, row[at] as number | null);
      }
      return values;
    };
    const slots = [...valuesOf("web").keys()];
    expect(now - Math.min(...slots)).to.be.at.least(40 * DAY);
    const gaps = [...valuesOf("email")].filter(([, value]) => value === null).map(([slot]) => slot);
    for (let week = 0; week < 6; week += 1)
      expect(gaps.filter((slot) => now - slot > week * 7 * DAY && now - slot < (week + 1) * 7 * DAY)).to.have.length(8);
    const change = (id: string) => {
      const values = [...valuesOf(id).values()];
      return (values.at(-1) as number) / (values.at(-85) as number);
    };
    expect(change("mobile-app")).to.be.above(1.1);
    expect(change("at-risk")).to.be.below(0.9);
    const moved = (id: string) => {
      const [joined, left] = ["joined", "left"].map((type) => [...valuesOf(id, type).values()].slice(0, -1));
      const sizes = [...valuesOf(id).values()] as number[];
      expect(Math.min(...(joined as number[]), ...(left as number[])), id).to.equal(0);
      const sum = (values: readonly (number | null)[] = []) => values.reduce<number>((all, one) => all + (one ?? 0), 0);
      expect(sum(joined) - sum(left), id).to.equal((sizes.at(-1) as number) - (sizes[0] as number));
    };
    for (const { id } of smallSet.segments) moved(id);
    const names = smallSet.segments.map(({ name }) => name).join();
    for (const script of ["Cyrillic", "Han", "Arabic", "Devanagari"])
      expect(names, script).to.match(new RegExp(`\\p{Script=${script}}`, "u"));
  });

  it("has messages that are outside the gap, which stays a gap once they are counted", async () => {
    const now = Date.now();
    await run(syntheticRequests(client(), 1, now));
    const from = Math.max(
      ...syntheticSeries(1, now).flatMap(({ ts, values }) => ts.filter((_, at) => hasNull(values, at))),
    );
    const hours = Array.from({ length: 8 }, (_, hour) => from - (7 - hour) * HOUR);
    const counted = await Promise.all(hours.map((slot) => service.service.stores.counts.counted(["email"], slot)));
    expect(counted.flatMap((counts) => [...counts])).to.deep.equal([]);
  });
  const hasNull = (values: readonly (readonly (number | null)[])[], at: number) =>
    values.some((row) => row[at] === null);

  it("of real size is counted by the lists, and saved sizes end at the number of members", async () => {
    await run(syntheticRequests(client(), 1, Date.now(), largeSet()));
    for (const [list, total] of [
      ["segment", 5_000],
      ["experience", 300],
      ["stream", 500],
    ]) {
      const page = (await (await service.fetch(`/api/${list}?limit=1`)).json()) as { meta: { total: number } };
      expect(page.meta.total, list as string).to.equal(total);
    }
    const { data } = (await (await service.fetch("/api/segment?range=1d&sort=size&order=desc&limit=20")).json()) as {
      data: { id: string; size: number; now: number }[];
    };
    // Saved sizes end at the number of members, so that the recorder continues them without a step.
    for (const { id, size, now } of data) expect(now, id).to.be.closeTo(size, 3);
  }).timeout(240_000);
});

describe("synthetic data of a service that runs on", function () {
  this.timeout(60_000);

  it("has neither a spike nor a gap in its streams in the hour of the start and those after it", async () => {
    // At night, when a stream has few messages.
    const start = Date.UTC(2026, 0, 7, 2);
    let now = start + 40 * 60_000;
    const service = await startService({ recorder: { tick_ms: 5 } }, { clock: () => now });
    try {
      const client = serviceClient(service.url, service.key);
      await run(syntheticRequests(client, 1, now));
      const { counts } = service.service.stores;
      const counted = await counts.counted(["web", "mobile", "email"], start);
      for (const [stream, count] of counted) expect(count, stream).to.be.below(10);
      for (const hour of [1, 2]) {
        now = start + hour * HOUR + 1_000;
        await run(streamRequests(client, 1, now));
      }
      now = start + 3 * HOUR + 1_000;
      await until("the recorder has saved its counts", async () => (await counts.unsaved(now - HOUR, 1)).length === 0);

      for (const stream of ["web", "mobile", "email"]) {
        const [series] = await client.metrics([
          { dimension: "stream", dimension_id: stream, dimension_type: "size", range: "2d", interval: "1h" },
        ]);
        const values = new Map(series?.values.map(({ ts, value }) => [Number(ts), value]));
        for (const ts of [start, start + HOUR, start + 2 * HOUR]) {
          const dayBefore = values.get(ts - DAY) ?? Number.NaN;
          expect((values.get(ts) ?? 0) / dayBefore, `${stream} ${new Date(ts).toISOString()}`).to.be.within(0.6, 1.6);
        }
      }
    } finally {
      await service.stop();
    }
  });
});
