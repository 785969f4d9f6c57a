import type { Clock } from "../clock.js";
import type { Meters } from "../meters.js";
import type { Recorder } from "./recorder.js";

/** The same recorder, with its lag for `/metrics`: seconds since it last had nothing left to do. */
export function watchRecorder(recorder: Recorder, clock: Clock, meters: Pick<Meters, "gauge">): Recorder {
  let upToDate = clock();
  meters.gauge("recorder_lag_seconds", "Seconds since the recorder last had nothing left to do.", () =>
    Math.max(0, (clock() - upToDate) / 1000),
  );
  return {
    async tick() {
      const more = await recorder.tick();
      if (!more) upToDate = clock();
      return more;
    },
  };
}
