// Loaded into a measured service: answers each message with the longest stall of its event loop since the last one, ms.
import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on("message", () => {
  process.send({ stallMs: delay.max / 1e6 });
  delay.reset();
});
