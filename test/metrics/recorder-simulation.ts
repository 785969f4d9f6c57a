import { setImmediate } from "node:timers/promises";
import { audienceCounts } from "../../src/catalogue/audience-counts.js";
import type { Clock } from "../../src/clock.js";
import { type Dimension, dimensions, HOUR, isCounted } from "../../src/metrics/dimensions.js";
import { type Recorder, workerLease } from "../../src/metrics/recorder/recorder.js";
import { type Series, type SlotColumn, seriesKey, slotStart } from "../../src/metrics/series.js";
import { HeldCalls, portThrough } from "../support/held-calls.js";
import { join, type RecordedStores, receive, recorderOver, seriesOf } from "./recorder-fixture.js";

const MINUTE = 60_000;

export interface Simulation {
  readonly start: number;
  readonly end: number;
  /** Messages that each stream received, by slot. */
  readonly received: Map<string, Map<number, number>>;
  /** Every value that was written to the store for a size, by series and slot. */
  readonly sizesWritten: Map<string, Set<number>>;
  /** Values of sizes that were written to a slot, though no recorder took them while its clock showed that slot. */
  readonly misplaced: string[];
  /** Hours in which a recorder with a right clock finished a tick after the last fault of the hour. */
  readonly quietHours: number[];
  readonly deaths: number;
  readonly jumps: number;
}

/** The series of sizes that the simulated catalogue has. */
export const sizeSeries: readonly Series[] = [
  seriesOf("segment", "visitors"),
  seriesOf("segment", "buyers"),
  seriesOf("experience", "banner", "potentialreach"),
  seriesOf("experience", "banner", "actualreach"),
  seriesOf("experiencegroup", "spring", "potentialreach"),
  seriesOf("experiencegroup", "spring", "actualreach"),
];

interface Instance {
  recorder: Recorder | undefined;
  /** Error of its clock, ms. */
  offset: number;
  /** Its port calls, at one of which it dies now and then. */
  readonly calls: HeldCalls;
  /** True time at which it comes up again, or at which its clock is read. */
  upAt: number;
  clockUntil: number;
}

/**
 * Simulates days of three recorders over the same stores: each dies in its work now and then (before or after a port
 * call has its effect), is down for hours, and has a clock that jumps by two hours; sometimes all are down. Messages
 * arrive in time, late, and while the recorders work.
 */
export async function simulate(stores: RecordedStores, start: number, days: number, seed: number): Promise<Simulation> {
  const random = mulberry32(seed);
  const between = (low: number, high: number) => Math.floor(low + random() * (high - low + 1));
  const end = start + days * 24 * HOUR;
  let now = start;
  let deaths = 0;
  let jumps = 0;
  const received = new Map<string, Map<number, number>>();
  const sizesWritten = new Map<string, Set<number>>();
  const misplaced: string[] = [];
  const sampled = new Set<string>();
  const quietHours: number[] = [];
  const instances: Instance[] = [];

  for (const id of ["visitors", "buyers"]) await stores.catalogue.putSegment({ id, name: id, table: "user" });
  await stores.catalogue.putExperience({
    id: "banner",
    name: "Banner",
    group: "spring",
    audience: "visitors",
    goal: "buyers",
  });
  await stores.catalogue.putExperience({
    id: "mail",
    name: "Mail",
    group: "spring",
    audience: "buyers",
    goal: "visitors",
  });

  const message = async (stream: string, time: number) => {
    await receive(stores, stream, time);
    const slots = received.get(stream) ?? new Map<number, number>();
    const slot = Math.floor(time / HOUR) * HOUR;
    received.set(stream, slots.set(slot, (slots.get(slot) ?? 0) + 1));
  };

  const note = (columns: readonly SlotColumn[]) => {
    for (const { series, from, values } of columns) {
      if (isCounted(series)) continue;
      for (const [at, value] of values.entries()) {
        if (Number.isNaN(value)) continue;
        const key = `${seriesKey(series)} ${from + at * series.dimension.slotMs}`;
        if (!sampled.has(`${key} ${value}`)) misplaced.push(`${key} ${value}`);
        sizesWritten.set(key, (sizesWritten.get(key) ?? new Set()).add(value));
      }
    }
  };

  const boot = (instance: Instance) => {
    const clock = () => now + instance.offset;
    const audiences = audienceCounts(stores.catalogue, stores.memberships);
    const mortal = <T extends object>(port: T): T => portThrough(port, instance.calls.around);
    const { write, lease } = mortal({
      write(columns: readonly SlotColumn[]) {
        note(columns);
        return stores.series.write("recorder", columns);
      },
      lease: workerLease({ clock, lease: stores.lease }, "recorder"),
    });
    const series = mortal({ read: stores.series.read, expire: stores.series.expire, settle: stores.series.settle });
    instance.recorder = recorderOver(stores, clock, {
      dimensions: dimensions.map((dimension) => observed(dimension, clock, sampled)),
      audiences: mortal(audiences),
      lease,
      counts: mortal(stores.counts),
      series,
      write,
    });
  };

  const tick = async (instance: Instance): Promise<boolean> => {
    if (instance.recorder === undefined) return false;
    try {
      while (await instance.recorder.tick());
      return true;
    } catch {
      deaths += 1;
      instance.recorder = undefined;
      instance.upAt = now + between(1, 600) * MINUTE;
      return false;
    }
  };

  const steer = (instance: Instance) => {
    if (now >= instance.clockUntil) {
      const jump = random() < 0.02 ? (random() < 0.5 ? 2 : -2) * HOUR : 0;
      if (jump !== instance.offset) jumps += 1;
      instance.offset = jump;
      instance.clockUntil = now + between(10, 300) * MINUTE;
    }
    if (instance.recorder === undefined && now >= instance.upAt) boot(instance);
    instance.calls.revive();
    if (random() < 0.03) instance.calls.die(between(0, 24), random() < 0.5);
  };

  for (let index = 0; index < 3; index += 1) {
    instances.push({ recorder: undefined, offset: 0, calls: new HeldCalls(), upAt: start, clockUntil: start });
  }
  for (let hour = start; hour < end; hour += HOUR) {
    if (random() < 0.002) {
      for (const instance of instances) {
        instance.recorder = undefined;
        instance.upAt = hour + between(1, 10) * HOUR;
      }
    }
    const deathsBefore = deaths;
    let quiet = false;
    for (const minute of [between(0, 3), between(20, 40)]) {
      now = hour + minute * MINUTE;
      for (const instance of instances) steer(instance);
      const traffic = async () => {
        await message("views", now);
        if (random() < 0.2) await message("views", now - between(1, 30) * HOUR);
        if (random() < 0.02) await message("orders", Math.max(start, now - between(0, 29 * 24) * HOUR));
        if (random() < 0.3) {
          const segment = random() < 0.5 ? "visitors" : "buyers";
          await join(stores, segment, [`entity ${between(1, 60)}`], { time: now, leave: random() < 0.5 });
        }
      };
      const [, ...ticked] = await Promise.all([traffic(), ...instances.map(tick)]);
      quiet = ticked.some((done, index) => done && instances[index]?.offset === 0);
    }
    if (quiet && deaths === deathsBefore && instances.every(({ offset }) => offset === 0)) quietHours.push(hour);
  }

  now = end + 2 * HOUR;
  for (const instance of instances) {
    instance.offset = 0;
    instance.calls.revive();
    boot(instance);
    await tick(instance);
    now += MINUTE;
  }
  return { start, end, received, sizesWritten, misplaced, quietHours, deaths, jumps };
}

/** The dimension, which notes in `sampled` each value that is taken and the slot that the clock shows. */
function observed(dimension: Dimension, clock: Clock, sampled: Set<string>): Dimension {
  const { sampling } = dimension;
  if (sampling === undefined) return dimension;
  return {
    ...dimension,
    sampling: {
      ...sampling,
      async sample(audiences, ids) {
        const slot = slotStart(dimension, clock());
        const samples = await sampling.sample(audiences, ids);
        // Counting takes longer than the calls around it, as on a server.
        for (let i = 0; i < ids.size; i += 1) await setImmediate();
        for (const { id, type, value } of samples)
          sampled.add(`${seriesKey({ dimension, id, type })} ${slot} ${value}`);
        return samples;
      },
    },
  };
}

/** A small generator of numbers in [0, 1) that gives the same ones for the same seed. */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
