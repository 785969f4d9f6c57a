import { expect } from "chai";
import { audienceCounts } from "../../src/catalogue/audience-counts.js";
import { stream } from "../../src/metrics/dimensions.js";
import { sizeRecorder } from "../../src/metrics/recorder/record-sizes.js";
import { recordCounts } from "../../src/metrics/recorder/recorder.js";
import type { Series, SlotColumn } from "../../src/metrics/series.js";
import type { Stores } from "../../src/stores/stores.js";
import { commitOf, messageFor, newEntityId } from "../support/commits.js";
import { type Actor, type Choice, Interleaving } from "./interleaving.js";

const SLOT = Date.UTC(2024, 5, 1);
const LEASE_MS = 5_000;

export interface RaceOptions {
  /** Whether every lease has ended when the next one is requested, as if each recorder slept before. Else none ends. */
  readonly sleepy?: boolean;
}

let races = 0;

/** One slot of a series of its own, over the same stores for all its processes. */
export class SlotRace {
  readonly #stores: Stores;
  readonly #sleepy: boolean;
  readonly #interleaving = new Interleaving();
  readonly #actors: Actor[] = [];
  readonly #series: Series;
  #now = SLOT;
  #recorders = 0;
  /** Values that recorders wrote, in order. */
  readonly written: number[] = [];

  constructor(stores: Stores, { sleepy = false }: RaceOptions = {}) {
    this.#stores = stores;
    this.#sleepy = sleepy;
    races += 1;
    this.#series = { dimension: stream, id: `race ${races}`, type: "size" };
  }

  /** A recorder that takes this size. `promptWrite`: it is never held between its last lease check and its write. */
  size(value: number, { promptWrite = false } = {}): this {
    return this.#recorder(async (ports, guarded) => {
      const { id, type } = this.#series;
      const sampling = { ids: async () => [id], sample: async () => [{ id, type, value }] };
      const { lease, read } = guarded;
      const { write } = promptWrite ? ports : guarded;
      const audiences = audienceCounts(this.#stores.catalogue, this.#stores.memberships);
      await sizeRecorder(
        { clock: () => SLOT, audiences, series: { read }, missed: () => {}, lease, write },
        stream,
        sampling,
      )();
    });
  }

  /** A recorder that saves the count of the stream. `hasLooked`: it has read count and lease before the race. */
  count({ hasLooked = false } = {}): this {
    return this.#recorder(async (ports, guarded) => {
      const { lease, unsaved } = hasLooked ? ports : guarded;
      const { write, saved } = guarded;
      await recordCounts({ clock: afterSlot, counts: { unsaved, saved }, lease, write });
    });
  }

  /** Another message of the stream arrives. */
  message(): this {
    return this.#actor(async (name) => {
      await this.#interleaving.turn(name);
      await this.receive();
    });
  }

  /** Messages of the stream arrive. */
  async receive(count = 1): Promise<void> {
    const entity = newEntityId();
    const messages = Array.from({ length: count }, (_, position) =>
      messageFor(entity, { stream: this.#series.id, time: SLOT, arrival: SLOT, position }),
    );
    if (!(await this.#stores.entities.commit(commitOf([], { messages }))))
      throw new Error("the messages were not kept");
  }

  /** Runs all of them; returns the caller of each call. */
  async run(choose: Choice = () => 0): Promise<string[]> {
    return this.#interleaving.run(this.#actors.splice(0), choose);
  }

  /** The stored value. */
  async stored(): Promise<number> {
    const window = { series: this.#series, from: SLOT, to: SLOT + stream.slotMs };
    const [values] = await this.#stores.series.read([window]);
    return values?.[0] ?? Number.NaN;
  }

  /** Lets a recorder save the remaining values. */
  async settle(): Promise<void> {
    for (let left = true; left; left = (await this.#unsaved()).length > 0) {
      this.#now += 2 * LEASE_MS;
      await this.count().run();
    }
    expect(await this.#unsaved()).to.deep.equal([]);
  }

  async #unsaved() {
    const all = await this.#stores.counts.unsaved(afterSlot(), 10_000);
    return all.filter(({ stream: id }) => id === this.#series.id);
  }

  #recorder(work: (ports: Ports, guarded: Ports) => Promise<void>): this {
    this.#recorders += 1;
    const owner = `recorder ${this.#recorders}`;
    const { series, counts, lease } = this.#stores;
    const ports: Ports = {
      read: (windows) => series.read(windows),
      lease: () => {
        if (this.#sleepy) this.#now += 2 * LEASE_MS;
        return lease(this.#series.id, owner, this.#now, this.#now + LEASE_MS);
      },
      write: async (columns) => {
        await series.write("recorder", columns);
        for (const { values } of columns) this.written.push(...values);
      },
      unsaved: () => this.#unsaved(),
      saved: (saved) => counts.saved(saved),
    };
    return this.#actor((name) => work(ports, this.#interleaving.guard(name, ports)));
  }

  #actor(work: (name: string) => Promise<void>): this {
    const name = `${this.#actors.length}`;
    this.#actors.push({ name, work: () => work(name) });
    return this;
  }
}

/** The calls of a recorder. */
interface Ports {
  read: Stores["series"]["read"];
  lease(): ReturnType<Stores["lease"]>;
  write(columns: readonly SlotColumn[]): Promise<void>;
  unsaved: Stores["counts"]["unsaved"];
  saved: Stores["counts"]["saved"];
}

function afterSlot(): number {
  return SLOT + stream.slotMs;
}
