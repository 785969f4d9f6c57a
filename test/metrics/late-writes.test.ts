import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import type { SeriesStore } from "../../src/metrics/ports.js";
import type { Stores } from "../../src/stores/stores.js";
import { temporaryStores } from "../support/stores.js";
import { type ComposedSeries, openSeriesService } from "./cache-history.js";
import { largeCaches } from "./metric-reader.js";

const NOW = Date.UTC(2024, 2, 1, 12, 30);
const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };
const window = { startdate: Date.UTC(2024, 2, 1), enddate: Date.UTC(2024, 2, 2) };

describe("a write that the store completes after it was rejected", () => {
  const { now } = performance;
  let stores: Stores;
  let late: LateStore;
  let service: ComposedSeries;
  beforeEach(async () => {
    stores = await temporaryStores();
    late = lateStore(stores.series);
    const over = { ...stores, series: late.store, ownsSeries: false };
    service = await openSeriesService(over, largeCaches, null, () => NOW);
  });

  afterEach(async () => {
    performance.now = now;
    await service.stop();
    await stores.close();
  });

  async function values(): Promise<number[]> {
    const { data } = JSON.parse((await service.ask([{ ...series, ...window }])).body.replaceAll("…", "null"));
    return data[0].values.map(({ value }: { value: number }) => value);
  }

  it("is in responses after 10 s, if other processes use the store", async () => {
    expect((await service.post("/api/metric/points", [{ ...series, value: 7, ts: NOW }])).status).to.equal(503);
    expect(await values()).to.deep.equal([]);
    await late.complete();
    performance.now = () => now.call(performance) + 10_001;
    expect(await values()).to.deep.equal([7]);
  });
});

interface LateStore {
  readonly store: SeriesStore;
  /** Completes the rejected writes; later ones are stored at once. */
  complete(): Promise<void>;
}

function lateStore(store: SeriesStore): LateStore {
  let rejected: Parameters<SeriesStore["write"]>[] | undefined = [];
  return {
    store: {
      ...store,
      async write(source, columns) {
        if (rejected === undefined) return store.write(source, columns);
        rejected.push([source, columns]);
        throw new ServiceError("unavailable", "The store did not respond in time");
      },
    },
    async complete() {
      for (const write of rejected ?? []) await store.write(...write);
      rejected = undefined;
    },
  };
}
