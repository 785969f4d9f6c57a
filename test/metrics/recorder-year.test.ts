import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions.js";
import type { Stores } from "../../src/stores/stores.js";
import { storesOnServers } from "../support/servers.js";
import { temporaryStores } from "../support/stores.js";
import { savedHours, seriesOf } from "./recorder-fixture.js";
import { type Simulation, simulate, sizeSeries } from "./recorder-simulation.js";

const simulations = [
  { days: 365, zone: "UTC", start: Date.UTC(2023, 10, 1), seed: 1 },
  { days: 20, zone: "America/New_York", start: Date.UTC(2024, 2, 1), seed: 2 },
  { days: 20, zone: "Australia/Lord_Howe", start: Date.UTC(2024, 9, 1), seed: 3 },
];
const shortOnes = [{ days: 1, zone: "America/New_York", start: Date.UTC(2024, 2, 9, 12), seed: 20 }];

for (const { days, zone, start, seed } of storesOnServers ? shortOnes : simulations) {
  describe(`P13: ${days} days of three recorders that die and whose clocks jump, in ${zone}`, function () {
    this.timeout(240_000);
    const zoneBefore = process.env.TZ;
    let stores: Stores;
    let simulation: Simulation;

    before(async () => {
      process.env.TZ = zone;
      stores = await temporaryStores();
      simulation = await simulate(stores, start, days, seed);
    });
    after(async () => {
      if (zoneBefore === undefined) delete process.env.TZ;
      else process.env.TZ = zoneBefore;
      await stores.close();
    });

    it("include deaths and jumps", () => {
      // A short one may be spared one kind of trouble.
      const [fewest, most] = [simulation.deaths, simulation.jumps].sort((a, b) => a - b) as [number, number];
      expect(most).to.be.greaterThan(days / 20);
      if (days > 1) expect(fewest).to.be.greaterThan(days / 20);
    });

    it("miss no count", async () => {
      const first = start - 30 * HOUR;
      for (const [stream, slots] of simulation.received) {
        const saved = await savedHours(stores, seriesOf("stream", stream), first, (simulation.end - first) / HOUR);
        const received = Object.fromEntries([...slots].map(([slot, count]) => [(slot - first) / HOUR, count]));
        expect(saved).to.deep.equal(received);
      }
      expect(await stores.counts.unsaved(simulation.end, 1)).to.deep.equal([]);
    });

    it("write no size twice with different values", () => {
      const different = [...simulation.sizesWritten].filter(([, values]) => values.size > 1);
      expect(different.map(([key, values]) => `${key}: ${[...values]}`)).to.deep.equal([]);
    });

    it("fill no gap with the sample of another time", () => {
      expect(simulation.misplaced).to.deep.equal([]);
    });

    it("leave no gap in an hour without a fault", async () => {
      expect(simulation.quietHours.length).to.be.greaterThan(days * 12);
      for (const series of sizeSeries) {
        const saved = await savedHours(stores, series, start, (simulation.end - start) / HOUR);
        const slotHours = series.dimension.slotMs / HOUR;
        const gaps = simulation.quietHours
          .map((hour) => (hour - start) / HOUR)
          .filter((hour) => saved[String(hour - (hour % slotHours))] === undefined);
        expect(gaps).to.deep.equal([]);
      }
    });
  });
}
