import { type ProcessSet, processSet } from "../../support/process-set.js";
import type { RealService } from "../../support/real-service.js";

const PROCESSES = 2;

/** One of the processes, as long as it runs. */
interface Place {
  service: RealService | undefined;
  starting: Promise<void>;
}

/** Two processes over the same servers. One of them always runs, while the other is killed and started again. */
export class ProcessPair {
  readonly set: ProcessSet;
  kills = 0;
  /** Everything that the processes have written to their logs. */
  readonly logs: (() => string)[] = [];
  readonly #places: Place[] = [];
  readonly #ended = new Set<RealService>();

  static async start(): Promise<ProcessPair> {
    const pair = new ProcessPair(await processSet());
    for (let index = 0; index < PROCESSES; index += 1) {
      pair.#places.push({ service: undefined, starting: Promise.resolve() });
      pair.#begin(index);
    }
    await pair.whole();
    return pair;
  }

  private constructor(set: ProcessSet) {
    this.set = set;
  }

  /** Resolves when both run. */
  async whole(): Promise<void> {
    await Promise.all(this.#places.map(({ starting }) => starting));
  }

  /** The process that is asked for when it runs, else the other one. */
  service(through: number): RealService {
    const order = [this.#places[through % PROCESSES], this.#places[(through + 1) % PROCESSES]];
    const running = order.find((place) => place?.service !== undefined)?.service;
    if (running === undefined) throw new Error("No process runs");
    return running;
  }

  /** Index of the process; -1: it was killed. */
  indexOf(service: RealService): number {
    return this.#places.findIndex((place) => place.service === service);
  }

  /** Whether it runs, or has ended for good: not while it is being killed. */
  isSettled(service: RealService): boolean {
    return this.indexOf(service) >= 0 || this.#ended.has(service);
  }

  /** Kills it and starts it again, unless the other one is just being started. */
  kill(index: number): void {
    const place = this.#places[index] as Place;
    const killed = place.service;
    if (killed === undefined || this.#places.some(({ service }) => service === undefined)) return;
    place.service = undefined;
    this.kills += 1;
    place.starting = killed
      .kill()
      .then(() => {
        this.#ended.add(killed);
        this.#begin(index);
      })
      .then(() => place.starting);
    place.starting.catch(() => {});
  }

  #begin(index: number): void {
    const place = this.#places[index] as Place;
    place.starting = this.set.start("api,worker").then((service) => {
      place.service = service;
      this.logs.push(service.log);
    });
    place.starting.catch(() => {});
  }
}
