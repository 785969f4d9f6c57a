import { expect } from "chai";
import { MongoClient } from "mongodb";
import { systemClock } from "../../src/clock.js";
import { openLog } from "../../src/log.js";
import { dimensionNamed, HOUR } from "../../src/metrics/dimensions.js";
import type { Series } from "../../src/metrics/series.js";
import { openStores } from "../../src/stores/open-stores.js";
import { type ProcessSet, processSet } from "../support/process-set.js";
import { collectThrough, isCompleteIn, removeThrough } from "../support/requests.js";
import { mongodbUrl, onServers, onServersOnly } from "../support/servers.js";
import { settingsFor } from "../support/service.js";
import { until } from "../support/until.js";

const PEOPLE = 30;
const ERASED = 15;

onServers(["mongodb", "influxdb", "bullmq"], "three processes that start, sweep and tick at once", function () {
  this.timeout(300_000);
  let set: ProcessSet;
  before(async () => {
    set = await processSet();
  });
  after(() => set.close());

  it("finish every open deletion and save one value a slot", async () => {
    const first = await set.start("api");
    await collectThrough(
      first,
      Array.from({ length: PEOPLE }, (_, index) => personOf(index)),
    );
    const json = { audience: "seen", goal: "even" };
    expect((await first.fetch("/api/experience/banner", { method: "PUT", json })).status).to.equal(200);
    const ids: string[] = [];
    for (let index = 0; index < ERASED; index += 1) ids.push(await removeThrough(first, `email/p${index}@example.org`));
    await first.kill();

    const [one, ...others] = await Promise.all([1, 2, 3].map(() => set.start("api,worker")));
    if (one === undefined) throw new Error("none was started");
    for (const id of ids) await until("it is complete", () => isCompleteIn(one, id), 60_000);
    const path = `/api/metric?dimension=segment&dimension_id=seen&dimension_type=size&interval=6h&range=12h`;
    await until("the size is saved", async () => {
      const { data } = (await (await one.fetch(path)).json()) as { data: [{ values: unknown[] }] };
      return data[0].values.length > 0;
    });

    await until("every size is saved", async () => (await savedBy(set.name)).length >= SIZES.length, 30_000);
    const saved = await savedBy(set.name);
    const owners = new Set<string>();
    await until(
      "each process has held the recorder's lease",
      async () => owners.add(await ownerIn(set.name)).size >= 3,
      60_000,
    );
    const later = await savedBy(set.name);
    expect(later.slice(0, saved.length)).to.deep.equal(saved);
    for (const service of [one, ...others]) expect(service.log()).to.not.match(/"level":50/);
  });
});

function personOf(index: number): object {
  return { email: `p${index}@example.org`, segments: index % 2 === 0 ? ["seen", "even"] : ["seen"] };
}

/** The series that a recorder samples here. */
const SIZES = [
  seriesOf("segment", "seen", "size"),
  seriesOf("segment", "even", "size"),
  seriesOf("experience", "banner", "potentialreach"),
  seriesOf("experience", "banner", "actualreach"),
];

/** Values of recorders in the latest slots: series, slot and value, oldest slot first. */
async function savedBy(name: string): Promise<[string, number, number][]> {
  const stores = await openStores({
    settings: settingsFor("unused", onServersOnly(name)),
    log: openLog("silent"),
    clock: systemClock,
  });
  try {
    const windows = SIZES.map((series) => {
      const { slotMs } = series.dimension;
      const to = Math.ceil(Date.now() / slotMs) * slotMs;
      return { series, from: to - Math.max(2 * slotMs, 4 * HOUR), to };
    });
    const columns = await stores.series.read(windows, "recorder");
    const saved = windows.flatMap(({ series, from }, i) =>
      Array.from(columns[i] ?? [], (value, at): [string, number, number] => [
        `${series.id} ${series.type}`,
        from + at * series.dimension.slotMs,
        value,
      ]),
    );
    return saved.filter(([, , value]) => !Number.isNaN(value)).sort((a, b) => a[1] - b[1]);
  } finally {
    await stores.close();
  }
}

/** The process that held the recorder's lease last. */
async function ownerIn(name: string): Promise<string> {
  const client = new MongoClient(mongodbUrl(name));
  try {
    const leases = client.db(name).collection<{ _id: string; owner: string }>("leases");
    return (await leases.findOne({ _id: "recorder" }))?.owner ?? "none";
  } finally {
    await client.close();
  }
}

function seriesOf(name: string, id: string, type: string): Series {
  const dimension = dimensionNamed(name);
  if (dimension === undefined) throw new Error(`there is no dimension ${name}`);
  return { dimension, id, type };
}
