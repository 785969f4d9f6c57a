import { expect } from "chai";
import type { TestService } from "../support/service.js";
import { HOUR, NOW } from "./dashboard-data.js";

export const SEGMENTS = 5_000;
export const STREAMS = 500;
const EXPERIENCES = 300;
/** Points of a write, at most. */
const BATCH = 50_000;
const DAYS = 8;

const scripts = ["Käufer", "顧客", "عملاء", "покупатели", "लोग", "buyers"];
/** Names of 96 characters in several scripts. */
export const segmentName = (index: number) => `${scripts[index % scripts.length]} ${index} `.padEnd(96, "n");
export const segmentId = (index: number) => `seg-${String(index).padStart(4, "0")}`;
export const streamName = (index: number) => `stream-${String(index).padStart(3, "0")}`;
export const experienceId = (index: number) => `exp-${String(index).padStart(3, "0")}`;

/** Saved size of a segment in a slot: it grows with the slot, and differs between segments. */
export const sizeAt = (index: number, slot: number) => ((index * 7919) % SEGMENTS) + 10 + slot;
/** Messages of a stream in an hour. */
export const messagesAt = (index: number, hour: number) => ((index * 37) % STREAMS) + (hour % 24);

/** Whole hours up to the open one, the last `DAYS` days. */
export const hours = Array.from(
  { length: DAYS * 24 },
  (_, at) => Math.floor(NOW / HOUR) * HOUR - (DAYS * 24 - at) * HOUR,
);
export const slots = hours.filter((ts) => ts % (2 * HOUR) === 0);

/** 5,000 segments, 500 streams and 300 experiences, with eight days of points and a message of each stream. */
export async function fillRealSize(service: TestService): Promise<void> {
  const send = async (method: string, path: string, json: unknown) => {
    const response = await service.fetch(path, { method, json });
    expect(response.status, path).to.be.within(200, 202);
  };
  const { catalogue } = service.service.stores;
  await inGroups(SEGMENTS, (index) =>
    catalogue.putSegment({ id: segmentId(index), name: segmentName(index), table: "user" }),
  );
  await inGroups(EXPERIENCES, (index) =>
    catalogue.putExperience({
      id: experienceId(index),
      name: `Experience ${index}`,
      audience: segmentId(index),
      goal: segmentId(index + 1),
      group: `group-${index % 10}`,
    }),
  );
  await inGroups(STREAMS, (index) => send("POST", `/collect/json/${streamName(index)}`, { _uid: `u-${index}` }));
  const block = (dimension: string, type: string, ids: readonly string[], ts: readonly number[]) =>
    Array.from({ length: Math.ceil(ids.length / Math.floor(BATCH / ts.length)) }, (_, part) => {
      const size = Math.floor(BATCH / ts.length);
      return { dimension, type, ids: ids.slice(part * size, (part + 1) * size), ts, first: part * size };
    });
  const idsOf = (count: number, name: (index: number) => string) => Array.from({ length: count }, (_, at) => name(at));
  const write = async (
    parts: ReturnType<typeof block>,
    valueAt: (index: number, slot: number) => number,
  ): Promise<void> => {
    for (const { dimension, type, ids, ts, first } of parts) {
      await send("POST", "/api/metric/points", {
        series: ids.map((dimension_id) => ({ dimension, dimension_id, dimension_type: type })),
        ts,
        values: ids.map((_, index) => ts.map((_, slot) => valueAt(first + index, slot))),
      });
    }
  };
  await write(block("segment", "size", idsOf(SEGMENTS, segmentId), slots), sizeAt);
  await write(block("stream", "size", idsOf(STREAMS, streamName), hours), messagesAt);
  const experiences = idsOf(EXPERIENCES, experienceId);
  await write(block("experience", "potentialreach", experiences, hours), () => 1_000);
  await write(block("experience", "actualreach", experiences, hours), (index, hour) => 100 + (index % 50) + hour);
}

async function inGroups(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const GROUP = 32;
  for (let first = 0; first < count; first += GROUP)
    await Promise.all(Array.from({ length: Math.min(GROUP, count - first) }, (_, at) => work(first + at)));
}
