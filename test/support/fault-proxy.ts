import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { endsWithTest } from "./ends-with-test.js";
import { FaultyLine } from "./faulty-line.js";

/**
 * What happens to the connections through a proxy, from when it is set.
 * - `pass`: nothing.
 * - `refuse`: as if the server had stopped: connections are cut, new ones refused.
 * - `blackhole`: connections are taken and stay open, and nothing comes through in either direction.
 * - `stall`: connections are taken and stay open, and nothing more is read from either end, so that their buffers fill.
 * - `dropAnswers`: requests go through; the first answer is discarded and the connection cut: a lost ack.
 * - `slow`: maximum bytes per second of responses.
 * - `truncate`: a connection is cut after this number of bytes of responses.
 */
export type Fault =
  | "pass"
  | "refuse"
  | "blackhole"
  | "stall"
  | "dropAnswers"
  | { readonly slow: number }
  | { readonly truncate: number };

/** A TCP proxy in front of a server, with faults that a test sets. */
export interface FaultProxy {
  readonly port: number;
  /** Number of open connections. */
  readonly connections: number;
  /** The URL of the server by way of the proxy; or another URL, with the proxy in the place of its host. */
  url(of?: string): string;
  set(fault: Fault): Promise<void>;
  /** Resets every open connection, now. What is set stays set. */
  reset(): void;
  /** Ends every open connection, now: each side reads the end, and nothing more is sent. What is set stays set. */
  end(): void;
  /**
   * Applies the fault to the first connection that passes a request with these bytes, until another fault is set.
   * Resolves then; later connections have no fault.
   */
  when(pattern: string, fault: Fault): Promise<void>;
  close(): Promise<void>;
}

/** Opens a proxy on a free port of this machine to a server, given by its URL or its port here. */
export async function openFaultProxy(target: string | number): Promise<FaultProxy> {
  const upstream = new URL(typeof target === "number" ? `tcp://127.0.0.1:${target}` : target);
  const lines = new Set<FaultyLine>();
  const hooks = new Map<string, (line: FaultyLine) => void>();
  let current: Fault = "pass";

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client: Socket) => {
    if (current === "refuse") return void client.resetAndDestroy();
    const host = upstream.hostname.replace(/^\[|\]$/g, "");
    const line = new FaultyLine(
      client,
      createConnection({ host, port: Number(upstream.port), noDelay: true }),
      current,
    );
    lines.add(line);
    line.closed.then(() => lines.delete(line));
    line.forwarded = (seen) => {
      for (const [pattern, meet] of hooks) if (seen(pattern)) meet(line);
    };
  });
  await listen(0);
  const { port } = server.address() as AddressInfo;

  return {
    port,
    get connections() {
      return lines.size;
    },
    url(of) {
      const url = new URL(of ?? upstream.href);
      url.hostname = "127.0.0.1";
      url.port = String(port);
      return url.href;
    },
    async set(fault) {
      current = fault;
      if (fault === "refuse") await stop();
      else if (!server.listening) await listen(port);
      for (const line of lines) line.set(fault);
    },
    reset() {
      for (const line of lines) line.cut();
    },
    end() {
      for (const line of lines) line.end();
    },
    when(pattern, fault) {
      return new Promise((resolve) => {
        hooks.set(pattern, (line) => {
          hooks.delete(pattern);
          line.set(fault);
          resolve();
        });
      });
    },
    close: endsWithTest(stop),
  };

  /** Takes connections; on a port that another process has just taken, as soon as it is free. */
  async function listen(on: number): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        server.listen(on, "127.0.0.1");
        return void (await once(server, "listening"));
      } catch (error) {
        if (tries === 100) throw error;
        await sleep(20);
      }
    }
  }

  async function stop(): Promise<void> {
    const closed = server.listening ? once(server, "close") : undefined;
    if (server.listening) server.close();
    for (const line of lines) line.cut();
    await closed;
  }
}
