import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./fault-proxy.js";

/** Bytes of a request remembered, so that a pattern is found where two pieces meet. */
const REMEMBERED = 4_096;

/** One connection through a fault proxy. */
export class FaultyLine {
  /** Resolves when both ends are closed. */
  readonly closed: Promise<unknown>;
  /** Called after a piece of a request has passed. */
  forwarded: (seen: (pattern: string) => boolean) => void = () => {};
  readonly #client: Socket;
  readonly #server: Socket;
  #fault: Fault;
  #answered = 0;
  #lost = false;
  #hasEnded = false;
  #seen = Buffer.alloc(0);
  readonly #stalled: (() => void)[] = [];

  constructor(client: Socket, server: Socket, fault: Fault) {
    this.#client = client;
    this.#server = server;
    this.#fault = fault;
    this.closed = Promise.all([client, server].map((end) => new Promise((resolve) => end.once("close", resolve))));
    for (const end of [client, server]) end.on("error", () => this.cut());
    this.#carry(client, server, (piece) => this.#request(piece));
    this.#carry(server, client, (piece) => this.#answer(piece));
  }

  /** A connection that has lost bytes is unusable: it is cut when the fault ends. */
  set(fault: Fault): void {
    this.#fault = fault;
    this.#answered = 0;
    for (const goOn of this.#stalled.splice(0)) goOn();
    if (fault === "refuse" || (this.#lost && fault !== "blackhole")) this.cut();
  }

  /** Cuts the connection at both ends. */
  cut(): void {
    for (const end of [this.#client, this.#server]) {
      if (end.destroyed) continue;
      // Node does not close the handle of a socket that is reset while it shuts down, and then never exits.
      if (end.writableEnded && !end.writableFinished) end.destroy();
      else end.resetAndDestroy();
    }
  }

  /** Ends the connection at both ends. What arrives later is discarded. */
  end(): void {
    this.#hasEnded = true;
    for (const socket of [this.#client, this.#server]) socket.end();
  }

  /** Forwards pieces from one end to the other in order, and then the end. */
  #carry(from: Socket, to: Socket, hand: (piece: Buffer) => Promise<void>): void {
    from.on("data", (piece: Buffer) => {
      from.pause();
      hand(piece).then(
        () => from.resume(),
        () => this.cut(),
      );
    });
    from.on("end", () => {
      if (!this.#swallows()) to.end();
    });
  }

  async #request(piece: Buffer): Promise<void> {
    await this.#wait();
    if (this.#swallows()) return;
    await write(this.#server, piece);
    const seen = Buffer.concat([this.#seen, piece]);
    this.#seen = seen.subarray(-REMEMBERED);
    this.forwarded((pattern) => seen.includes(pattern));
  }

  async #answer(piece: Buffer): Promise<void> {
    await this.#wait();
    if (this.#swallows()) return;
    const fault = this.#fault;
    if (fault === "dropAnswers") return this.cut();
    if (typeof fault === "object" && "slow" in fault) return this.#trickle(piece, fault);
    if (typeof fault === "object" && "truncate" in fault) {
      const left = Math.max(0, fault.truncate - this.#answered);
      this.#answered += piece.length;
      await write(this.#client, piece.subarray(0, left));
      if (piece.length < left) return;
      this.#client.end();
      this.#server.destroy();
      return;
    }
    await write(this.#client, piece);
  }

  #swallows(): boolean {
    if (this.#fault === "blackhole") this.#lost = true;
    return this.#fault === "blackhole" || this.#hasEnded;
  }

  async #wait(): Promise<void> {
    while (this.#fault === "stall") await new Promise<void>((resolve) => this.#stalled.push(resolve));
  }

  /** Forwards a piece twenty times a second while the fault lasts. */
  async #trickle(piece: Buffer, fault: { readonly slow: number }): Promise<void> {
    const size = Math.max(1, Math.round(fault.slow / 20));
    for (let at = 0; at < piece.length && !this.#swallows(); ) {
      const end = this.#fault === fault ? at + size : piece.length;
      await write(this.#client, piece.subarray(at, end));
      at = end;
      if (this.#fault === fault) await sleep((1000 * size) / fault.slow);
    }
  }
}

/** Resolves when there is room for more. */
async function write(to: Socket, piece: Buffer): Promise<void> {
  if (to.destroyed || to.writableEnded) throw new Error("The connection is closed");
  if (piece.length === 0 || to.write(piece)) return;
  await new Promise<void>((resolve) => {
    const go = () => {
      to.off("drain", go).off("close", go);
      resolve();
    };
    to.on("drain", go).on("close", go);
  });
}
