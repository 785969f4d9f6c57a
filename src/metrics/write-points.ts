import { ServiceError } from "../errors.js";
import { type Failpoint, noFailpoint } from "../failpoint.js";
import type { Epochs } from "./cache/epochs.js";
import type { Plane, SeriesStore, SeriesWindow } from "./ports.js";
import type { SlotColumn } from "./series.js";

export interface WritePointsParts {
  readonly store: Pick<SeriesStore, "write">;
  readonly epochs: Pick<Epochs, "write">;
  readonly failpoint?: Failpoint;
}

/** Keeps slots: once it resolves all of them survive a crash and every read sees them. Safe to repeat. */
export type WritePoints = (plane: Plane, columns: readonly SlotColumn[]) => Promise<void>;

export function writePoints({ store, epochs, failpoint = noFailpoint }: WritePointsParts): WritePoints {
  return async (plane, columns) => {
    const windows = columns.flatMap(windowsOf);
    if (windows.length === 0) return;
    try {
      await epochs.write(windows, async () => {
        await store.write(plane, columns);
        failpoint("W1");
      });
    } catch (error) {
      throw error instanceof ServiceError ? error : unavailable(error);
    }
  };
}

/** The stretches of a column that say something. */
function windowsOf({ series, from, values }: SlotColumn): SeriesWindow[] {
  const { slotMs } = series.dimension;
  const windows: SeriesWindow[] = [];
  for (let slot = 0; slot < values.length; slot += 1) {
    if (Number.isNaN(values[slot])) continue;
    const first = slot;
    while (slot < values.length && !Number.isNaN(values[slot])) slot += 1;
    windows.push({ series, from: from + first * slotMs, to: from + slot * slotMs });
  }
  return windows;
}

function unavailable(cause: unknown): ServiceError {
  return new ServiceError("unavailable", "The points could not be stored; send them again", { cause });
}
