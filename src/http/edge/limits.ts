import { randomUUID } from "node:crypto";
import type { RequestListener, ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { Limits } from "../../config/settings.js";
import { ServiceError } from "../../errors.js";
import type { Meters } from "../../meters.js";
import { onResponseClosed } from "./connections.js";
import { type ProtocolErrors, wholeErrorResponse } from "./errors.js";

/**
 * Maximum concurrent requests; the others wait for their turn. Concurrent requests share commits, reads and round
 * trips; more than this gain little and need memory. By default (`requests_per_key`) a key has at most 64 of them.
 */
const CONCURRENT = 96;

/**
 * New requests are refused when the first one in the queue has waited for this long, ms: callers would retry them
 * before they are served.
 */
const MAX_WAIT_MS = 1000;

/** Addresses that together may have all bodies read for their keys. */
const SHARES = 4;

/** Paths with limits; `/health`, `/ready`, `/metrics` and pages respond under any load. */
const LIMITED = /^\/(?:(?:api|collect|v1)\/|federate\b)/;

/** Request targets that may mean such a path: with a host, or with an escape in the first segment. */
const UNUSUAL = /^(?!\/)|^\/[^/?]*%/;

/** Returns whether requests of a path, or of a route's pattern, are limited. */
export function isLimited(path: string): boolean {
  return LIMITED.test(path);
}

interface Waiting {
  readonly since: number;
  start(): void;
}

/**
 * Limits the requests in flight in total and per key, and runs them in order of arrival. A request is in flight until
 * its response is sent or its caller disconnects. `MemoryBudget` bounds their memory.
 */
export class RequestLimits {
  readonly #limits: Pick<Limits, "requests" | "requests_per_key">;
  readonly #ofKey = new Map<string, number>();
  /** Bodies that are read for their keys, by the address of their sender. */
  readonly #ofAddress = new Map<string, number>();
  readonly #queue: Waiting[] = [];
  #inFlight = 0;
  #running = 0;
  #isStarting = false;

  constructor(limits: Pick<Limits, "requests" | "requests_per_key">) {
    this.#limits = limits;
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests in flight that have not started. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Whether new requests are refused: too many are in flight, or the first waiting one has waited too long. Work past
   * its deadline counts until it ends.
   */
  get isFull(): boolean {
    const [first] = this.#queue;
    const isBehind = first !== undefined && performance.now() - first.since > MAX_WAIT_MS;
    return isBehind || Math.max(this.#inFlight, this.#running) >= this.#limits.requests;
  }

  /** Counts a request in flight. */
  enter(res: ServerResponse): void {
    this.#inFlight += 1;
    onResponseClosed(res, () => {
      this.#inFlight -= 1;
    });
  }

  /**
   * Reads the key in the body of a request. All such requests count as if they had one key, because anyone can send
   * them and send slowly; each address gets a share. Throws `too-many-requests` when too many are being
   * read.
   */
  async readKey<T>(address: string, read: () => Promise<T>): Promise<T> {
    const most = this.#limits.requests_per_key;
    const all = [...this.#ofAddress.values()].reduce((sum, bodies) => sum + bodies, 0);
    if (all >= most || (this.#ofAddress.get(address) ?? 0) >= Math.ceil(most / SHARES)) {
      throw new ServiceError("too-many-requests", "Too many bodies are read for their keys", { retryAfter: 1 });
    }
    const end = counted(this.#ofAddress, address);
    try {
      return await read();
    } finally {
      end();
    }
  }

  /**
   * Runs a request of a key, in order of arrival. `work` calls `runs(false)` while it waits for its caller: bodies
   * without an end (NDJSON) of two keys would otherwise occupy every turn. Rejects with `too-many-requests` when the
   * key has too many in flight, and with `timed-out` when the caller disconnects before its turn.
   */
  async run(
    res: ServerResponse,
    keyId: string,
    work: (runs: (isRunning: boolean) => void) => Promise<void>,
  ): Promise<void> {
    if ((this.#ofKey.get(keyId) ?? 0) >= this.#limits.requests_per_key) {
      throw new ServiceError("too-many-requests", "Too many concurrent requests with this key", { retryAfter: 1 });
    }
    onResponseClosed(res, counted(this.#ofKey, keyId));
    if (this.#running < CONCURRENT && this.#queue.length === 0) this.#running += 1;
    else await this.#turn(res);
    let counts = true;
    const runs = (isRunning: boolean) => {
      if (isRunning === counts) return;
      counts = isRunning;
      this.#running += isRunning ? 1 : -1;
      if (!isRunning) void this.#startWaiting();
    };
    try {
      await work(runs);
    } finally {
      runs(false);
    }
  }

  #turn(res: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = { since: performance.now(), start: resolve };
      this.#queue.push(waiting);
      onResponseClosed(res, () => {
        const at = this.#queue.indexOf(waiting);
        if (at < 0) return;
        this.#queue.splice(at, 1);
        reject(new ServiceError("timed-out", "The caller disconnected"));
      });
    });
  }

  /** Starts waiting requests, one in each round of the event loop, so that the network is served in between. */
  async #startWaiting(): Promise<void> {
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#running < CONCURRENT && this.#queue.length > 0) {
      await setImmediate();
      const first = this.#queue.shift();
      if (first === undefined) break;
      this.#running += 1;
      first.start();
    }
    this.#isStarting = false;
  }
}

/** Counts one more of a name; returns the function that ends it. */
function counted(counts: Map<string, number>, name: string): () => void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
  return () => {
    const left = (counts.get(name) ?? 1) - 1;
    if (left > 0) counts.set(name, left);
    else counts.delete(name);
  };
}

/** Properties of a server that change its refusals. */
interface Refusing {
  readonly meters: Pick<Meters, "request">;
  /** Errors of the protocol that a path speaks. */
  readonly protocols: ReadonlyMap<string, ProtocolErrors>;
  /** Whether the service is stopping; then each response closes its connection. */
  stopping(): boolean;
}

/**
 * Counts limited requests, and refuses them while the service is full. It comes before the application: a refusal by
 * the application costs three times as much, and halved the number of requests that are served under overload. Pages
 * of every origin may read a refusal, as it contains nothing.
 */
export function limitRequests(
  limits: Pick<RequestLimits, "isFull" | "enter">,
  { meters, protocols, stopping }: Refusing,
  listener: RequestListener,
): RequestListener {
  const error = new ServiceError("busy", "Too many requests in flight; try again", { retryAfter: 1 });
  return (req, res) => {
    const { url = "" } = req;
    const limited = req.method !== "OPTIONS" && (isLimited(url) || UNUSUAL.test(url));
    if (limited && limits.isFull) {
      const { status, headers, text } = wholeErrorResponse(error, protocols.get(url.split("?", 1)[0] as string));
      if (stopping()) res.setHeader("Connection", "close");
      res.writeHead(status, { ...headers, ...READABLE, "X-Request-Id": randomUUID() });
      res.end(text);
      meters.request("other", "none", status, 0);
      return;
    }
    if (limited) limits.enter(res);
    listener(req, res);
  };
}

/** Headers with which a page of any origin may read a response. */
const READABLE = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "Retry-After, X-Request-Id",
};
