import { spawn } from "node:child_process";
import { connect } from "node:net";
import { join } from "node:path";
import { until } from "../support/until.js";

/** The program that TEST_TELEGRAF names, if it names one. */
export const telegrafBinary = process.env.TEST_TELEGRAF || undefined;

/** A Telegraf in a process of its own that takes line protocol on a socket. */
export interface Telegraf {
  /** Its output so far. */
  log(): string;
  /** Resolves when Telegraf has the lines. */
  send(lines: readonly string[]): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code when the process is gone. */
  stop(): Promise<number | null>;
}

/** Starts Telegraf with a configuration file that names `socketIn(dir)`; resolves when it listens. */
export async function startTelegraf(dir: string, config: string): Promise<Telegraf> {
  const child = spawn(telegrafBinary ?? "", ["--config", config], { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  const note = (chunk: Buffer) => {
    log += chunk;
  };
  child.stdout.on("data", note);
  child.stderr.on("data", note);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("close", resolve);
    child.once("error", reject);
  });
  const stop = () => {
    child.kill("SIGTERM");
    return ended;
  };
  try {
    await Promise.race([
      until("Telegraf listens", () => log.includes("Listening on "), 60_000),
      ended.then(() => {
        throw new Error("Telegraf ended");
      }),
    ]);
  } catch (error) {
    await stop();
    throw new Error(`Telegraf did not start: ${log}`, { cause: error });
  }
  return {
    log: () => log,
    stop,
    send: (lines) =>
      new Promise((resolve, reject) => {
        const socket = connect(socketIn(dir), () => socket.end(`${lines.join("\n")}\n`));
        socket.once("error", reject);
        socket.once("close", () => resolve());
      }),
  };
}

export function socketIn(dir: string): string {
  return join(dir, "in.sock");
}
