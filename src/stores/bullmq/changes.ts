import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import type { ChangePhase, Changes } from "../../metrics/changes.js";
import type { SeriesWindow } from "../../metrics/series-store.js";
import type { SharedEra } from "../../metrics/shared-era.js";
import { decode, encode } from "./change-message.js";
import { Era } from "./era.js";
import { Peers } from "./peers.js";
import { RemoteWrites, type Tell } from "./remote-writes.js";
import { SharedEraWatch } from "./shared-era-watch.js";
import { within } from "./within.js";

export interface ChangesParts {
  readonly channel: string;
  /** Publishes; fails at once while the server is away. */
  readonly publisher: Redis;
  /** For subscribing alone, without a queue of commands. */
  readonly subscriber: Redis;
  readonly sharedEra: SharedEra;
  /** The longest that a write may take from its beginning until the store has it or never will, ms. */
  readonly writeLifeMs: number;
  /** The longest that raising the shared era may take, ms. */
  readonly deadlineMs: number;
}

/** An announcement that the server has not taken by then was not heard by the others, ms. */
const PUBLISH_MS = 300;

/** A heartbeat is sent this often, ms. */
const HEARTBEAT_MS = 250;

/** What is held is trusted for so long after the sending of the last own heartbeat that came back, ms. */
const TRUST_MS = 900;

/** A line that is silent for longer is cut and made anew, ms. */
const SILENCE_MS = 2_500;

/** How often a caller is let look whether there is trust yet, ms. */
const LOOK_MS = 10;

/**
 * News of writes over a channel of the server.
 *
 * Why no process hands out a copy from before a write for longer than a second after the write's `end` has resolved:
 *
 * - The server hands its messages to a subscriber in the order in which it took them. A process whose own heartbeat, sent at s,
 *   has come back has therefore heard all that the server took before s through the same connection. It trusts its copies
 *   until s + TRUST_MS, by a clock that goes on while the process stands still. So an `end` that the server took at t was
 *   heard, and the copies were dropped, or there is no trust from t + TRUST_MS on. When a heartbeat comes back after that, or
 *   through another connection, the era goes up, so that none of the old copies is ever used again.
 * - An `end` that the server did not take for sure raises the shared era, which each process reads every moment and believes
 *   for less than a second from the start of a read; `announce` resolves when that time is over. If the shared era cannot be raised
 *   either, `announce` rejects, nothing is acknowledged, and raising it is tried again and again.
 * - Announcements are numbered and heartbeats say the last number, so one that got lost on its way is noticed at the next message.
 *
 * A writer that dies between the store and its `end` was heard to begin: from then on nobody keeps a copy of these series,
 * until the write can no longer reach the store and is ended by us (`RemoteWrites`). A `begin` that the server did not take raises the
 * shared era before the write starts; it need not wait for anybody, since nothing is acknowledged yet. Whoever may have missed a `begin`
 * drops its copies twice: now, and when that write can no longer reach the store (`Era`). A write that names too many series to
 * be told of one by one is treated in the same way.
 */
export class RedisChanges implements Changes {
  readonly #process = randomUUID();
  readonly #parts: ChangesParts;
  readonly #listeners: Tell[] = [];
  readonly #era: Era;
  readonly #peers: Peers;
  readonly #remote: RemoteWrites;
  readonly #sharedEra: SharedEraWatch;
  readonly #timer: NodeJS.Timeout;
  /** Number of the last announcement of this process. */
  #number = 0;
  /** All that was said before was heard, `performance.now`. */
  #heardUntil = Number.NEGATIVE_INFINITY;
  /** When a heartbeat last came back, or the lines were last made anew, `performance.now`. */
  #lineGoodAt = performance.now();

  constructor(parts: ChangesParts) {
    this.#parts = parts;
    this.#era = new Era(parts.writeLifeMs);
    this.#peers = new Peers(parts.writeLifeMs);
    this.#remote = new RemoteWrites((phase, windows) => this.#tell(phase, windows), parts.writeLifeMs);
    const { sharedEra, deadlineMs, publisher, subscriber, channel } = parts;
    this.#sharedEra = new SharedEraWatch(sharedEra, deadlineMs, () => this.#era.missed(performance.now()));
    subscriber.on("ready", () => void subscriber.subscribe(channel).then(this.#beat, () => {}));
    publisher.on("ready", this.#beat);
    subscriber.on("close", () => {
      this.#heardUntil = Number.NEGATIVE_INFINITY;
    });
    subscriber.on("message", (_, text) => this.#hear(text));
    this.#timer = setInterval(this.#beat, HEARTBEAT_MS).unref();
  }

  async announce(phase: ChangePhase, windows: readonly SeriesWindow[]): Promise<void> {
    this.#tell(phase, windows);
    this.#number += 1;
    const message = encode({ process: this.#process, number: this.#number, content: { phase, windows } });
    try {
      await within(PUBLISH_MS, this.#parts.publisher.publish(this.#parts.channel, message));
    } catch {
      if (phase === "begin") await this.#beginUnheard(windows);
      else await this.#endUnheard();
    }
  }

  listen(listener: Tell): void {
    this.#listeners.push(listener);
  }

  era(): number | undefined {
    const now = performance.now();
    return this.#trusts(now) ? this.#era.at(now) : undefined;
  }

  /** Resolves when there is an era, or after `ms`. */
  async settled(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    while (this.era() === undefined && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#sharedEra.close();
    this.#heardUntil = Number.NEGATIVE_INFINITY;
  }

  #trusts(now: number): boolean {
    return now - this.#heardUntil <= TRUST_MS && this.#sharedEra.isCurrent(now);
  }

  #tell(phase: ChangePhase, windows: readonly SeriesWindow[]): void {
    for (const listener of this.#listeners) listener(phase, windows);
  }

  async #beginUnheard(windows: readonly SeriesWindow[]): Promise<void> {
    try {
      await this.#sharedEra.raise();
    } catch (error) {
      // The write will not be tried, and nobody else will say so.
      this.#tell("end", windows);
      throw error;
    }
  }

  async #endUnheard(): Promise<void> {
    await this.#sharedEra.raise();
    await this.#sharedEra.seenByAll();
  }

  #hear(text: string): void {
    const now = performance.now();
    const message = decode(text);
    if (message === undefined) {
      this.#era.missed(now);
      return;
    }
    const { process, content } = message;
    if (process === this.#process) {
      if ("sentAt" in content) this.#hearEcho(content.sentAt, now);
      return;
    }
    const order = this.#peers.hear(message, now);
    if (order === "late") return;
    if (order === "gap") this.#era.missed(now);
    if ("sentAt" in content) return;
    if (content.windows === "all") this.#era.missed(now);
    else this.#remote.hear(process, content.phase, content.windows, now);
  }

  #hearEcho(sentAt: number, now: number): void {
    if (now - this.#heardUntil > TRUST_MS) this.#era.missed(now);
    this.#heardUntil = sentAt;
    this.#lineGoodAt = now;
  }

  #beat = (): void => {
    const now = performance.now();
    this.#remote.expire(now);
    this.#peers.forget(now);
    const { publisher, subscriber, channel } = this.#parts;
    if (now - this.#lineGoodAt > SILENCE_MS) {
      this.#lineGoodAt = now;
      for (const client of [publisher, subscriber]) {
        if (client.status === "ready" || client.status === "connect") client.disconnect(true);
      }
      return;
    }
    if (publisher.status !== "ready") return;
    const content = { sentAt: now };
    publisher.publish(channel, encode({ process: this.#process, number: this.#number, content })).catch(() => {});
  };
}
