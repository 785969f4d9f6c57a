import { expect } from "chai";
import { type ClaimParts, claimAndWrite, writeClaims } from "../../src/metrics/claim-and-write.js";
import { stream } from "../../src/metrics/dimensions/stream.js";
import { recordPoints } from "../../src/metrics/record-points.js";
import type { Series } from "../../src/metrics/series.js";
import type { SeriesStore } from "../../src/metrics/series-store.js";
import type { SlotClaims } from "../../src/metrics/slot-claims.js";
import { slotGate } from "../../src/metrics/slot-gate.js";
import { type Actor, type Choice, Interleaving } from "./interleaving.js";

const SLOT = Date.UTC(2024, 5, 1);

export interface SharedStores {
  readonly claims: SlotClaims;
  readonly series: SeriesStore;
  /** The same claims, as a process has them that waits for its turn before each call to the server. */
  readonly inTurns?: (turn: () => Promise<void>) => SlotClaims;
}

/** A process: where and how it dies, if it does. */
interface Life {
  /** Calls that it makes before the one in which it dies. */
  readonly calls?: number;
  /** Whether that call has its effect. */
  readonly late?: boolean;
}

let races = 0;

/** One slot of a series of its own, over the same stores for all its processes; each process has a gate of its own. */
export class SlotRace {
  readonly #stores: SharedStores;
  readonly #interleaving = new Interleaving();
  readonly #actors: Actor[] = [];
  readonly #series: Series;

  constructor(stores: SharedStores) {
    this.#stores = stores;
    races += 1;
    this.#series = { dimension: stream, id: `race ${races}`, type: "size" };
  }

  /** A recorder that took this value. */
  recorder(value: number, { grows = false, calls, late = false }: Life & { grows?: boolean } = {}): this {
    const samples = [{ series: this.#series, slot: SLOT, value }];
    return this.#actor((name) => claimAndWrite(this.#parts(name, calls, late), samples, { grows }));
  }

  /** A recorder that finishes what others have left. */
  finisher(): this {
    return this.#actor(async (name) => this.#finish(this.#parts(name)));
  }

  /** A writer of points: these values, one after the other. */
  writer(...values: number[]): this {
    return this.#actor(async (name) => {
      const { claims, store } = this.#ports(name);
      const changes = { announce: async () => {} };
      const record = recordPoints({ store, claims, changes, shared: true });
      for (const value of values) {
        await record([{ series: this.#series, from: SLOT, values: Float64Array.of(value) }]);
      }
    });
  }

  /** Lets them all work; hands out who made which call. */
  async run(choose: Choice = () => 0): Promise<string[]> {
    return this.#interleaving.run(this.#actors.splice(0), choose);
  }

  /** The value that stands now. */
  async standing(): Promise<number> {
    const [values] = await this.#stores.series.read([{ series: this.#series, from: SLOT, to: SLOT + stream.slotMs }]);
    return values?.[0] ?? Number.NaN;
  }

  /** The value that stands in the end, when a recorder has looked after everything, and has tried to raise the count. */
  async value(): Promise<number> {
    await this.finisher().run();
    await this.recorder(9_999, { grows: true }).run();
    const open = await this.#stores.claims.unsettled([stream], 1_000);
    expect(open.filter(({ series }) => series.id === this.#series.id)).to.deep.equal([]);
    return this.standing();
  }

  #actor(work: (name: string) => Promise<void>): this {
    const name = `${this.#actors.length}`;
    this.#actors.push({ name, work: () => work(name) });
    return this;
  }

  async #finish(parts: ClaimParts): Promise<void> {
    const open = await parts.claims.unsettled([stream], 1_000);
    await writeClaims(
      parts,
      open.filter(({ series }) => series.id === this.#series.id),
    );
  }

  #parts(name: string, calls = Number.POSITIVE_INFINITY, late = false): ClaimParts {
    let left = calls;
    const mortal = <T extends object>(port: T): T =>
      mapped(port, async (call) => {
        left -= 1;
        if (left < -1 || (left === -1 && !late)) throw new Error("The process is dead");
        const result = await call();
        if (left < 0) throw new Error("The process is dead");
        return result;
      });
    const { claims, store } = this.#ports(name);
    const [own, series] = [mortal(claims), mortal(store)];
    return { claims: own, series, gate: slotGate(), write: (columns) => series.write(columns) };
  }

  #ports(name: string): { claims: SlotClaims; store: SeriesStore } {
    const { claims, series, inTurns } = this.#stores;
    const turn = () => this.#interleaving.turn(name);
    return {
      claims: inTurns?.(turn) ?? this.#interleaving.guard(name, claims),
      store: this.#interleaving.guard(name, series),
    };
  }
}

/** The port, each of its calls made by `make`. */
function mapped<T extends object>(port: T, make: (call: () => Promise<unknown>) => Promise<unknown>): T {
  const own = { ...port } as Record<string, unknown>;
  for (const [name, method] of Object.entries(port)) {
    if (typeof method !== "function") continue;
    own[name] = (...args: unknown[]) => make(async () => Reflect.apply(method, port, args) as unknown);
  }
  return own as T;
}
