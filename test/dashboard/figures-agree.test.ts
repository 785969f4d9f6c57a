import { expect } from "chai";
import { createClient } from "../../src/client/client.js";
import { ranges, readAddress } from "../../src/dashboard/address.js";
import {
  comparisonOf,
  fetchSeries,
  fetchWithRecent,
  newestOf,
  type Series,
  type WantedSeries,
} from "../../src/dashboard/fetch-series.js";
import { comparedIn } from "../../src/dashboard/figures.js";
import { entryPage, findEntry } from "../../src/dashboard/list/entries.js";
import { messageSeries, rateOf, sizeOf } from "../../src/dashboard/list/wanted.js";
import { hourlyWindow, windowBefore, windowOf } from "../../src/dashboard/time-window.js";
import { writePoints } from "../support/requests.js";
import { adminKey, serviceOfSuite } from "../support/service.js";
import { serveDimensions } from "./served-dimensions.js";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 20, 21, 52, 10);
const OPEN = Math.floor(NOW / HOUR) * HOUR;
const DAYS = 800;

describe("one change of the dashboard", function () {
  this.timeout(60_000);
  const service = serviceOfSuite({}, { clock: () => NOW });
  const searches = [
    ...ranges.map((range) => `range=${range}`),
    "from=2026-11-01&to=2026-11-30",
    "from=2026-09-01&to=2026-10-01",
  ];

  before(async () => {
    serveDimensions();
    const hours = Array.from({ length: DAYS * 24 + 1 }, (_, at) => OPEN - (DAYS * 24 - at) * HOUR);
    const write = async (dimension: string, type: string, ts: readonly number[]) => {
      for (const [index, dimension_id] of ["a", "b"].entries()) {
        const values = ts.map((_, at) => 1_000 + ((at * 7919 * (index + 3)) % (100 * (index + 1))));
        const series = [{ dimension, dimension_id, dimension_type: type }];
        await writePoints(service, { series, ts, values: [values] });
      }
    };
    for (const [id, goal] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      await service.fetch(`/api/segment/${id}`, { method: "PUT", json: { name: id } });
      await service.fetch(`/api/experience/${id}`, { method: "PUT", json: { name: id, audience: id, goal } });
    }
    await write("stream", "size", hours);
    const series = [{ dimension: "stream", dimension_id: "begun", dimension_type: "size" }];
    const since = hours.slice(-37 * 24 - 5);
    await writePoints(service, { series, ts: since, values: [since.map((_, at) => 10 + (at % 7))] });
    for (const [index, search] of searches.entries()) {
      const { from } = windowBefore(windowOf(viewed(search), "stream"), viewed(search));
      const begin = (dimension_id: string, isWritten: (ts: number) => boolean) => {
        const ts = hours.filter(isWritten);
        const series = [{ dimension: "stream", dimension_id, dimension_type: "size" }];
        return writePoints(service, { series, ts, values: [ts.map((_, at) => 10 + (at % 7))] });
      };
      await begin(`in-first-${index}`, (ts) => ts >= from + 2 * HOUR);
      await begin(`quiet-at-first-${index}`, (ts) => ts === from - 20 * 24 * HOUR || ts >= from + 5 * HOUR);
      await begin(`silent-before-${index}`, (ts) => ts === from - 20 * 24 * HOUR || ts >= OPEN - 12 * HOUR);
    }
    await write(
      "segment",
      "size",
      hours.filter((ts) => ts % (2 * HOUR) === 0),
    );
    await write("experience", "potentialreach", hours);
    await write("experience", "actualreach", hours);
  });

  const viewed = (search: string, zone: "UTC" | "local" = "UTC") => ({
    address: { ...readAddress(`?view=explore&${search}`), compare: true },
    now: NOW,
    zone,
    client: createClient({ url: service.url, key: adminKey }),
    signal: new AbortController().signal,
  });
  const chart = async (wanted: WantedSeries, options: ReturnType<typeof viewed>) =>
    (await fetchSeries([wanted], options)).series[0] as Series;

  for (const search of searches)
    for (const zone of ["UTC", "local"] as const)
      it(`is the same in the head, the list and the chart of a stream with ${search} in the zone ${zone}`, async () => {
        const options = viewed(search, zone);
        const index = searches.indexOf(search);
        for (const id of ["b", "begun", `in-first-${index}`, `quiet-at-first-${index}`, `silent-before-${index}`]) {
          const { now, before } = comparedIn((await findEntry("stream", id, options)) ?? {});
          const compared = comparisonOf(await chart(messageSeries(id), options));
          expect([compared?.now ?? null, compared?.before ?? before], id).to.deep.equal([now, before]);
        }
        const { data } = await entryPage("stream", { sort: "difference" }, options);
        const differences = data.flatMap(({ compared: part, before }) => (part == null ? [] : part - (before ?? 0)));
        expect(differences).to.deep.equal(differences.toSorted((a, b) => a - b));
      });

  for (const search of searches)
    for (const [list, wanted] of [
      ["segment", sizeOf],
      ["experience", rateOf],
    ] as const)
      it(`is of the newest value and the one at the start of the chart of a ${list} with ${search}`, async () => {
        const options = viewed(search);
        const row = await findEntry(list, "b", options);
        const { from } = windowOf(options, list);
        const first = { ...wanted({ id: "b", name: "b" }), window: hourlyWindow(from, from + HOUR) };
        const { recent } = await fetchWithRecent([wanted({ id: "b", name: "b" })], options);
        const start = await chart(first, options);
        expect([row?.now, row?.before]).to.deep.equal([newestOf(recent.series[0]), start.values[0]]);
        const compared = comparisonOf(await chart(wanted({ id: "b", name: "b" }), options));
        if (search === "range=24h" || search === "range=7d")
          expect(compared).to.include({ now: row?.now, before: row?.before });
      });
});
