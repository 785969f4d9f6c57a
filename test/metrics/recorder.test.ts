import { expect } from "chai";
import { audienceCounts } from "../../src/catalogue/audience-counts.js";
import { HOUR } from "../../src/metrics/dimensions.js";
import type { Recorder } from "../../src/metrics/recorder/recorder.js";
import type { Stores } from "../../src/stores/stores.js";
import { temporaryStores } from "../support/stores.js";
import { join, receive, recorderOver, savedHours, seriesOf, tickAll } from "./recorder-fixture.js";

const START = Date.UTC(2024, 1, 29);
const SECOND = 1_000;

describe("the recorder", () => {
  let stores: Stores;
  let now: number;
  let recorder: Recorder;

  beforeEach(async () => {
    stores = await temporaryStores();
    now = START + 30 * 60 * SECOND;
    recorder = recorderOver(stores, () => now);
    for (const id of ["buyers", "visitors"]) await stores.catalogue.putSegment({ id, name: id, table: "user" });
    await join(stores, "visitors", ["a", "b", "c"]);
    await join(stores, "buyers", ["b", "c", "d", "e"]);
    for (const id of ["banner", "mail"]) {
      await stores.catalogue.putExperience({ id, name: id, group: "spring", audience: "visitors", goal: "buyers" });
    }
  });

  const hours = (dimension: string, id: string, type?: string) =>
    savedHours(stores, seriesOf(dimension, id, type), START, 48);
  const tickAt = async (hour: number, ms = 0) => {
    now = START + hour * HOUR + ms;
    await tickAll(recorder);
  };

  for (const { dimension, id, type, value } of [
    { dimension: "segment", id: "visitors", type: "size", value: 3 },
    { dimension: "segment", id: "buyers", type: "size", value: 4 },
    { dimension: "experience", id: "banner", type: "potentialreach", value: 3 },
    { dimension: "experience", id: "banner", type: "actualreach", value: 2 },
    { dimension: "experiencegroup", id: "spring", type: "potentialreach", value: 6 },
    { dimension: "experiencegroup", id: "spring", type: "actualreach", value: 4 },
  ]) {
    it(`samples ${type} of a ${dimension} (${id}) for the current slot, also if it starts within the slot`, async () => {
      await tickAll(recorder);
      expect(await hours(dimension, id, type)).to.deep.equal({ 0: value });
    });
  }

  it("samples the size of a new segment within 5 s", async () => {
    await tickAll(recorder);
    await stores.catalogue.putSegment({ id: "new", name: "new", table: "user" });
    await join(stores, "new", ["a"]);
    now += 5 * SECOND;
    await tickAll(recorder);
    expect(await hours("segment", "new")).to.deep.equal({ 0: 1 });
  });

  it("drops a sample that ends after its slot", async () => {
    const audiences = audienceCounts(stores.catalogue, stores.memberships);
    const slow = recorderOver(stores, () => now, {
      audiences: {
        ...audiences,
        async segmentSizes(ids) {
          now = START + 2 * HOUR;
          return audiences.segmentSizes(ids);
        },
      },
    });
    await slow.tick();
    expect(await hours("segment", "visitors")).to.deep.equal({});
    await slow.tick();
    expect(await hours("segment", "visitors")).to.deep.equal({ 2: 3 });
  });

  it("reports the slots that it missed, but not the slot of its start", async () => {
    const missed: Record<string, number> = {};
    let away = false;
    const audiences = audienceCounts(stores.catalogue, stores.memberships);
    const watched = recorderOver(stores, () => now, {
      missed({ name }, slots) {
        missed[name] = (missed[name] ?? 0) + slots;
      },
      audiences: {
        ...audiences,
        segments: () => (away ? Promise.reject(new Error("the store is away")) : audiences.segments()),
      },
    });
    const tickWatched = async (hour: number) => {
      now = START + hour * HOUR;
      await watched.tick().catch(() => {});
    };
    await tickWatched(1);
    await tickWatched(2);
    await tickWatched(3);
    expect(missed).to.deep.equal({ segment: 0, experience: 0, experiencegroup: 0 });
    away = true;
    for (const hour of [4, 5, 6, 7]) await tickWatched(hour);
    away = false;
    await tickWatched(7.5);
    expect(missed).to.deep.equal({ segment: 1, experience: 0, experiencegroup: 0 });
    await tickWatched(8);
    await tickWatched(14);
    expect(missed).to.deep.equal({ segment: 3, experience: 5, experiencegroup: 5 });
  });

  it("reports no slot as missed that another recorder samples", async () => {
    let missed = 0;
    const second = recorderOver(stores, () => now, {
      missed(_, slots) {
        missed += slots;
      },
    });
    for (const hour of [0, 1, 2, 3, 4]) {
      await tickAt(hour);
      await tickAll(second);
    }
    expect(missed).to.equal(0);
  });

  it("asks for the ids every 5 s, also while another recorder samples them", async () => {
    await tickAll(recorder);
    let asked = 0;
    const audiences = audienceCounts(stores.catalogue, stores.memberships);
    const second = recorderOver(stores, () => now, {
      audiences: {
        ...audiences,
        segments() {
          asked += 1;
          return audiences.segments();
        },
      },
    });
    for (let tick = 0; tick < 4; tick += 1) {
      await tickAll(second);
      now += SECOND;
    }
    expect(asked).to.equal(1);
  });

  it("saves more counts than fit into one batch", async () => {
    const old = START - 1_500 * HOUR;
    for (let hour = 0; hour < 1_200; hour += 1) await receive(stores, "views", old + hour * HOUR);
    await tickAll(recorder);
    expect(Object.keys(await savedHours(stores, seriesOf("stream", "views"), old, 1_500))).to.have.length(1_200);
  });

  // In InfluxDB the retention of the bucket does this, by the clock of the server.
  describe("with a retention", () => {
    it("expires older slots", async () => {
      const keeping = recorderOver(stores, () => now, { retention: 30 * 24 * HOUR });
      await receive(stores, "views", START, 7);
      now = START + HOUR;
      await tickAll(keeping);
      expect(await hours("stream", "views")).to.deep.equal({ 0: 7 });
      now = START + 60 * 24 * HOUR;
      await tickAll(keeping);
      expect(await hours("stream", "views")).to.deep.equal({});
    });
  });

  describe("while the store is unreachable", () => {
    let isAway: boolean;
    let limping: Recorder;

    beforeEach(async () => {
      isAway = true;
      limping = recorderOver(stores, () => now, {
        write: async (columns) => {
          if (isAway) throw new Error("the store is away");
          await stores.series.write("recorder", columns);
        },
      });
      await receive(stores, "views", START - HOUR, 5);
      const error = await limping.tick().catch((reason) => reason);
      expect(error).to.be.an("error");
      await join(stores, "visitors", ["x"]);
    });

    it("keeps its samples, and writes them later to their own slots", async () => {
      now = START + 3 * HOUR;
      await limping.tick().catch(() => {});
      await join(stores, "visitors", ["y"]);
      isAway = false;
      now = START + 5 * HOUR;
      await tickAll(limping);
      expect(await hours("segment", "visitors")).to.deep.equal({ 0: 3, 2: 4, 4: 5 });
      expect(await savedHours(stores, seriesOf("stream", "views"), START - HOUR, 1)).to.deep.equal({ 0: 5 });
    });
  });

  it("saves counts also while sizes cannot be sampled", async () => {
    const audiences = audienceCounts(stores.catalogue, stores.memberships);
    const half = recorderOver(stores, () => now, {
      audiences: {
        ...audiences,
        segments: () => Promise.reject(new Error("the catalogue is away")),
      },
    });
    await receive(stores, "views", START - HOUR, 5);
    const error = await half.tick().catch((reason) => reason);
    expect(error).to.be.an("error");
    expect(await savedHours(stores, seriesOf("stream", "views"), START - HOUR, 1)).to.deep.equal({ 0: 5 });
    expect(await hours("experience", "mail", "actualreach")).to.deep.equal({ 0: 2 });
  });

  it("does nothing while another recorder is active, and replaces it 5 s after its death", async () => {
    await tickAll(recorder);
    await receive(stores, "views", START - HOUR, 5);
    const other = recorderOver(stores, () => now);
    await tickAll(other);
    expect(await savedHours(stores, seriesOf("stream", "views"), START - HOUR, 1)).to.deep.equal({});
    now += 5 * SECOND;
    await tickAll(other);
    expect(await savedHours(stores, seriesOf("stream", "views"), START - HOUR, 1)).to.deep.equal({ 0: 5 });
  });
});
