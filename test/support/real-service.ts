import { type ChildService, startChild } from "./child-service.js";
import { adminKey } from "./service.js";

/** The real service in a process of its own, on a folder that outlives it. */
export interface RealService {
  readonly url: string;
  readonly pid: number;
  /** Everything it wrote so far. */
  log(): string;
  /** Resolves when the process is gone, with its signal or exit code. */
  readonly gone: Promise<NodeJS.Signals | number>;
  fetch(
    path: string,
    init?: {
      method?: string;
      json?: unknown;
      body?: string;
      type?: string;
      key?: string;
      headers?: Record<string, string>;
    },
  ): Promise<Response>;
  /** Ends it like `kill -9`. */
  kill(): Promise<void>;
  /** Ends it like Ctrl-C. */
  stop(): Promise<void>;
}

/** Starts the service on `dir`; resolves when its port is open, rejects with its log if it ends before. */
export async function startReal(
  dir: string,
  environment: Record<string, string> = {},
  begun: (process: ChildService) => void = () => {},
): Promise<RealService> {
  const process = startChild({
    HOST: "127.0.0.1",
    DATA_DIR: dir,
    ADMIN_KEY: adminKey,
    LOG_LEVEL: "debug",
    ...environment,
  });
  begun(process);
  const url = await process.listening;
  return {
    url,
    pid: process.child.pid as number,
    log: () => process.out() + process.err(),
    gone: process.ended,
    fetch: (
      path,
      { method = "GET", json, body = json === undefined ? undefined : JSON.stringify(json), type, key, headers } = {},
    ) =>
      fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: key ?? adminKey,
          ...(body === undefined ? {} : { "content-type": type ?? "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
      }),
    kill: process.kill,
    async stop() {
      process.child.kill("SIGTERM");
      await process.ended;
    },
  };
}
