// A measured server: a child process that reports its address and its cost so far.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** Length of a tick of /proc/PID/stat: every Linux has 100 per second. */
const TICK_MS = 10;

/** Whether costs are CPU ms of the server's process; without /proc they are elapsed time. */
export const costIsCpu = existsSync("/proc/self/stat");
export const costUnit = costIsCpu ? "CPU ms" : "wall ms";

/**
 * Starts `node ...args` and resolves when it has sent `{ listens }`. The child inherits only PATH and the like from our
 * environment.
 */
export function startServer(args, environment = {}) {
  const { PATH, SystemRoot, TMPDIR, TEMP } = process.env;
  const kept = Object.fromEntries(Object.entries({ PATH, SystemRoot, TMPDIR, TEMP }).filter(([, value]) => value));
  const begun = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...kept, NODE_ENV: "production", ...environment },
  });
  const gone = new Promise((resolve) => {
    child.once("exit", resolve);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`a server ended (${code}): ${args.join(" ")}`)));
    child.on("message", ({ listens }) => {
      if (listens === undefined) return;
      const stop = async () => {
        child.kill("SIGTERM");
        await gone;
      };
      const startMs = performance.now() - begun;
      resolve({
        address: new URL(listens),
        startMs,
        cost: () => costOf(child.pid),
        memory: () => memoryOf(child.pid),
        /** The longest stall of the event loop since the last call, ms, of a server with stalls.mjs. */
        stall: () =>
          new Promise((resolve) => {
            child.once("message", ({ stallMs }) => resolve(stallMs));
            child.send("stall");
          }),
        stop,
      });
    });
  });
}

function costOf(pid) {
  if (!costIsCpu) return performance.now();
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory, MB: current and peak. NaN without /proc. */
function memoryOf(pid) {
  if (!costIsCpu) return { now: Number.NaN, most: Number.NaN };
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
  return { now: megabytes("VmRSS"), most: megabytes("VmHWM") };
}
