import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { endsWithTest } from "./ends-with-test.js";
import { root } from "./source-tree.js";

/** A service in a process of its own; one that a test has started is killed after it. */
export interface ChildService {
  readonly child: ChildProcess;
  /** Ends it like `kill -9`. */
  kill(): Promise<void>;
  /** Its output so far. */
  out(): string;
  err(): string;
  /** The address that it listens on; rejects with its output when it ends before. */
  readonly listening: Promise<string>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Arguments that run a module of `src`, named without extension; under `npm test` its build, which starts faster. */
export function runs(module: string): string[] {
  return process.env.TEST_BUILT === "true" ? [`dist/${module}.js`] : ["--import", "tsx", `src/${module}.ts`];
}

/** Variables that are no settings: where programs and caches are, and the clock that `npm run test:dates` shifts. */
const inherited = Object.entries(process.env).filter(([name]) => /^(PATH|HOME|TZ|LD_PRELOAD|FAKETIME.*)$/.test(name));

/** Starts it on any free port, with just these settings in the environment, and `NODE_ENV=test`, as failpoints need. */
export function startChild(environment: Record<string, string>, args: readonly string[] = runs("main")): ChildService {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    env: {
      ...Object.fromEntries(inherited),
      NODE_ENV: "test",
      PORT: "0",
      LOG_LEVEL: "error",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const listening = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      out += chunk;
      const address = /listens on (\S+)\n/.exec(out)?.[1];
      if (address !== undefined) resolve(address);
    });
    ended.then((code) => reject(new Error(`the service ended with ${code}: ${err}`)));
  });
  listening.catch(() => {});
  const kill = endsWithTest(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { child, kill, out: () => out, err: () => err, listening, ended };
}
