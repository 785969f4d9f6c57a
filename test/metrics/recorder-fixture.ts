import { audienceCounts } from "../../src/catalogue/audience-counts.js";
import type { Clock } from "../../src/clock.js";
import { type AudienceCounts, dimensionNamed, dimensions, HOUR } from "../../src/metrics/dimensions.js";
import {
  createRecorder,
  type Recorder,
  type RecorderDependencies,
  workerLease,
} from "../../src/metrics/recorder/recorder.js";
import type { Series } from "../../src/metrics/series.js";
import type { Stores } from "../../src/stores/stores.js";
import { commitOf, freshEntity, keep, messageFor, newEntityId } from "../support/commits.js";

/** The ports of a recorder and of the data that it measures. */
export type RecordedStores = Pick<Stores, "catalogue" | "memberships" | "entities" | "counts" | "lease" | "series">;

/** A recorder on these stores; `parts` replaces any of its parts. */
export function recorderOver(
  stores: RecordedStores,
  clock: Clock,
  other: Partial<RecorderDependencies> = {},
): Recorder {
  return createRecorder({
    dimensions,
    clock,
    retention: undefined,
    audiences: audienceCounts(stores.catalogue, stores.memberships) satisfies AudienceCounts,
    counts: stores.counts,
    lease: workerLease({ clock, lease: stores.lease }, "recorder"),
    series: stores.series,
    missed: () => {},
    write: (columns) => stores.series.write("recorder", columns),
    ...other,
  });
}

/** Ticks until nothing is left. */
export async function tickAll(recorder: Recorder): Promise<void> {
  while (await recorder.tick());
}

export function seriesOf(dimension: string, id: string, type = "size"): Series {
  const found = dimensionNamed(dimension);
  if (found === undefined) throw new Error(`there is no dimension ${dimension}`);
  return { dimension: found, id, type };
}

/** The saved slots of a series, by hours since `start`. */
export async function savedHours(
  stores: RecordedStores,
  series: Series,
  start: number,
  hours: number,
): Promise<Record<string, number>> {
  const [values] = await stores.series.read([{ series, from: start, to: start + hours * HOUR }]);
  const perSlot = series.dimension.slotMs / HOUR;
  const saved: Record<string, number> = {};
  for (const [slot, value] of (values ?? new Float64Array()).entries()) {
    if (!Number.isNaN(value)) saved[String(slot * perSlot)] = value;
  }
  return saved;
}

/** Lets a stream receive messages whose event time is `time`. */
export async function receive(stores: RecordedStores, stream: string, time: number, count = 1): Promise<void> {
  const entity = newEntityId();
  const messages = Array.from({ length: count }, (_, position) =>
    messageFor(entity, { stream, time, arrival: time, position }),
  );
  if (!(await stores.entities.commit(commitOf([], { messages })))) throw new Error("the messages were not kept");
}

/** Makes entities members of a segment, or former members. */
export async function join(
  stores: RecordedStores,
  segment: string,
  entities: readonly string[],
  { time = 1, leave = false } = {},
): Promise<void> {
  const said = [{ [leave ? "remove" : "add"]: [segment], version: { time, arrival: time, position: 0 } }];
  const known = (await stores.entities.load(entities)).profiles;
  for (const id of entities) await keep(stores.entities, known.get(id) ?? freshEntity([], { id }), { said });
}
