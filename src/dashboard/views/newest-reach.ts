import { type Fetched, newestSlot } from "../fetch-series.js";

/** The newest saved reach and rate, all of one slot. */
export interface NewestReach {
  /** Start of the slot, Unix ms. */
  readonly at: number;
  readonly potential: number;
  readonly actual: number;
  readonly rate: number;
}

/** Returns the reach of the newest slot; undefined without one. An absent actual reach is 0. */
export function newestReach({ series }: Fetched): NewestReach | undefined {
  const of = (type: string) => series.find(({ name }) => name.endsWith(`.${type}`));
  const newest = newestSlot(of("potentialreach"));
  if (newest === undefined) return undefined;
  const { at, value: potential } = newest;
  const actualReach = of("actualreach");
  const actual = actualReach?.values[actualReach.window.buckets.indexOf(at)] ?? 0;
  return { at, potential, actual, rate: potential === 0 ? 0 : actual / potential };
}
