import { expect } from "chai";
import { openLog } from "../../src/log.js";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { dimensionNamed } from "../../src/metrics/dimensions/index.js";
import type { Series } from "../../src/metrics/series.js";
import { openStores } from "../../src/stores/open-stores.js";
import { collectThrough, isCompleteIn, type ProcessSet, processSet, removeThrough } from "../support/process-set.js";
import { onServers, onServersOnly } from "../support/servers.js";
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

    await until("every claim is settled", async () => (await slotsOf(set.name)).unsettled === 0, 30_000);
    const { claimed, saved } = await slotsOf(set.name);
    expect(claimed.length).to.be.at.least(1);
    expect(saved).to.deep.equal(claimed);
    for (const service of [one, ...others]) expect(service.log()).to.not.match(/"level":50/);
  });
});

function personOf(index: number): object {
  return { email: `p${index}@example.org`, segments: index % 2 === 0 ? ["seen", "even"] : ["seen"] };
}

/** What recorders have claimed for the sizes of these hours, and what the series say. */
async function slotsOf(name: string): Promise<{ claimed: unknown[]; saved: unknown[]; unsettled: number }> {
  const stores = await openStores({ settings: settingsFor("unused", onServersOnly(name)), log: openLog("silent") });
  try {
    const series = [seriesOf("segment", "seen", "size"), seriesOf("segment", "even", "size")];
    series.push(seriesOf("experience", "banner", "potentialreach"), seriesOf("experience", "banner", "actualreach"));
    const claimed: unknown[] = [];
    const saved: unknown[] = [];
    for (const one of series) {
      const { slotMs } = one.dimension;
      const to = Math.ceil(Date.now() / slotMs) * slotMs;
      const from = to - Math.max(2 * slotMs, 4 * HOUR);
      const slots = Array.from({ length: (to - from) / slotMs }, (_, at) => ({
        series: one,
        slot: from + at * slotMs,
      }));
      for (const { slot, value } of await stores.claims.claimed(slots)) claimed.push([one.id, one.type, slot, value]);
      const [values] = await stores.series.read([{ series: one, from, to }]);
      for (const [at, value] of (values ?? []).entries())
        if (!Number.isNaN(value)) saved.push([one.id, one.type, from + at * slotMs, value]);
    }
    const dimensions = series.map(({ dimension }) => dimension);
    return { claimed, saved, unsettled: (await stores.claims.unsettled(dimensions, 100)).length };
  } finally {
    await stores.close();
  }
}

function seriesOf(name: string, id: string, type: string): Series {
  const dimension = dimensionNamed(name);
  if (dimension === undefined) throw new Error(`there is no dimension ${name}`);
  return { dimension, id, type };
}
