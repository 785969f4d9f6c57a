import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions.js";
import type { Recorder } from "../../src/metrics/recorder/recorder.js";
import type { Series } from "../../src/metrics/series.js";
import type { Stores } from "../../src/stores/stores.js";
import { temporaryStores } from "../support/temporary-stores.js";
import { join, receive, recorderOver, savedHours, seriesOf, tickAll } from "./recorder-fixture.js";

const START = Date.UTC(2024, 11, 31);

describe("slots that clients wrote through points", () => {
  const members = seriesOf("segment", "visitors");
  const views = seriesOf("stream", "views");
  let stores: Stores;
  let now: number;
  let recorder: Recorder;

  beforeEach(async () => {
    stores = await temporaryStores();
    now = START;
    recorder = recorderOver(stores, () => now, "one");
    await stores.catalogue.putSegment({ id: "visitors", name: "Visitors", table: "user" });
    await join(stores, "visitors", ["a", "b"]);
  });
  afterEach(() => stores.close());

  const writePoint = (series: Series, hour: number, value: number) =>
    stores.series.write("clients", [{ series, from: START + hour * HOUR, values: Float64Array.of(value) }]);
  const tickAt = async (hour: number) => {
    now = START + hour * HOUR;
    await tickAll(recorder);
  };
  const hours = (series: Series) => savedHours(stores, series, START, 24);

  it("keep a size written before the recorder reads the slot", async () => {
    await writePoint(members, 0, 100);
    await tickAt(0);
    await tickAt(2);
    expect(await hours(members)).to.deep.equal({ 0: 100, 2: 2 });
  });

  it("keep a size written after the recorder has written its own", async () => {
    await tickAt(0);
    await writePoint(members, 0, 100);
    await tickAt(1);
    await tickAll(recorderOver(stores, () => now, "one"));
    expect(await hours(members)).to.deep.equal({ 0: 100 });
  });

  it("keep a size written between the recorder's read and its write", async () => {
    const dying = recorderOver(stores, () => now, "one", {
      write: () => Promise.reject(new Error("the store is away")),
    });
    await dying.tick().catch(() => {});
    await writePoint(members, 0, 100);
    await tickAt(0);
    expect(await hours(members)).to.deep.equal({ 0: 100 });
  });

  for (const { when, before } of [
    { when: "before the recorder has saved the count", before: true },
    { when: "after the recorder has saved the count", before: false },
  ]) {
    it(`keep a count written ${when}, also when late messages come`, async () => {
      await receive(stores, "views", START, 3);
      await receive(stores, "views", START + HOUR, 4);
      if (!before) await tickAt(2);
      await writePoint(views, 0, 100);
      await tickAt(2);
      await receive(stores, "views", START, 5);
      await receive(stores, "views", START + HOUR, 6);
      await tickAt(3);
      expect(await hours(views)).to.deep.equal({ 0: 100, 1: 10 });
      expect(await stores.counts.unsaved(now, 9)).to.deep.equal([]);
    });
  }

  it("never lose a write to the recorder that works at the same instant", async () => {
    for (let hour = 0; hour < 24; hour += 2) {
      now = START + hour * HOUR;
      const turns = [() => tickAll(recorder), () => writePoint(members, hour, 1_000 + hour)];
      await Promise.all((hour % 4 === 0 ? turns : turns.toReversed()).map((turn) => turn()));
    }
    expect(Object.values(await hours(members))).to.deep.equal(Array.from({ length: 12 }, (_, at) => 1_000 + 2 * at));
  });
});
