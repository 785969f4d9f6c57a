/**
 * Possible results of reads while a writer writes and erases and another one is held at some call: a request takes
 * effect at one instant between its start and its response. A request without a response takes effect once, later or
 * never.
 */

/** Bounds of an instant, Unix ms. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** People are identified by numbers. */
export interface SentMessage {
  /** Messages with equal numbers are equal. */
  readonly number: number;
  readonly who: readonly number[];
  /** The event time it names; undefined: its arrival. */
  readonly time: number | undefined;
}

/** The result of a read of an identity; undefined: no profile. */
export type Shown = { readonly who: readonly number[]; readonly messages: readonly number[] } | undefined;

export type Request =
  | { readonly kind: "collect"; readonly message: SentMessage }
  | { readonly kind: "delete"; readonly who: number }
  | { readonly kind: "read"; readonly who: number; readonly shown: Shown };

/** A request that was made. */
export interface Operation {
  readonly id: number;
  readonly request: Request;
  /** From its start until its response, or until it is certain that there will be none. */
  readonly during: Span;
  readonly answered: boolean;
  /** Lead of the clock of its process, ms. */
  readonly aheadMs: number;
  /** The operation without a response that this one repeats under the same idempotency key. */
  readonly repeats?: Operation;
}

interface Entity {
  readonly who: readonly number[];
  readonly messages: readonly number[];
}

/** The newest deletion of a person. */
interface CutOff {
  /** When it was accepted. */
  readonly order: Span;
  /** Its cut-off, by the clocks of the processes. Event times that messages name are compared with it. */
  readonly time: Span;
}

/** One state that is consistent with the responses. */
interface World {
  readonly entities: readonly Entity[];
  readonly cutOffs: ReadonlyMap<number, CutOff>;
  /** Operations without a response that have taken effect. */
  readonly happened: ReadonlySet<number>;
}

/** Owners of identities, stored messages and erased people after the responses so far: every possible state. */
export class ErasureModel {
  #worlds: readonly World[] = [{ entities: [], cutOffs: new Map(), happened: new Set() }];
  /** Operations without a response that may still take effect. */
  #open: readonly Operation[] = [];
  readonly #past: Operation[] = [];

  /** Adds an operation that began after all earlier ones with a response; throws if no order explains its response. */
  take(operation: Operation): void {
    this.#past.push(operation);
    const before = this.#worlds;
    if (operation.answered) {
      this.#worlds = merged(this.#withOpen().flatMap((world) => outcomes(world, operation)));
      if (this.#worlds.length === 0) throw new Error(this.#report(before));
    } else this.#open = [...this.#open, operation];
    const { repeats } = operation;
    if (repeats !== undefined) this.settle(repeats);
  }

  /** Adds the late response of an operation: it has taken effect by now. */
  answer(operation: Operation): void {
    const effects = (world: World) => (world.happened.has(operation.id) ? [world] : outcomes(world, operation));
    this.#worlds = merged(this.#worlds.flatMap(effects));
    this.settle(operation);
  }

  /** Ends an operation without a response that is not repeated: it has taken effect by now or never will. */
  settle({ id }: Operation): void {
    const without = (happened: World["happened"]) => new Set([...happened].filter((one) => one !== id));
    this.#worlds = merged(this.#worlds.map((world) => ({ ...world, happened: without(world.happened) })));
    this.#open = this.#open.filter((one) => one.id !== id);
  }

  /** The worlds in which each open operation has taken effect or not. */
  #withOpen(): readonly World[] {
    return this.#open.reduce(
      (worlds, open) =>
        worlds.flatMap((world) => [world, ...(world.happened.has(open.id) ? [] : outcomes(world, open))]),
      this.#worlds,
    );
  }

  #report(worlds: readonly World[]): string {
    const requests = this.#past
      .slice(-REPORTED)
      .map(
        ({ id, request, during, answered, repeats }) =>
          `${id} ${during.from}-${during.to} ${answered ? "answered" : "not answered"}${repeats ? `, repeats ${repeats.id}` : ""} ${JSON.stringify(request)}`,
      );
    const before = worlds.map(({ entities, cutOffs }) => JSON.stringify([entities, [...cutOffs]]));
    return ["The last response cannot be right.", "Before:", ...before, "Requests:", ...requests].join("\n");
  }
}

/** Operations of the past that a report shows. */
const REPORTED = 60;

/** The worlds after an operation that takes effect in this one; none if it is a read with another result. */
function outcomes(world: World, { id, request, during, answered, repeats, aheadMs }: Operation): World[] {
  if (request.kind === "read") return textOf(entityOf(world, request.who)) === textOf(request.shown) ? [world] : [];
  if (repeats !== undefined && world.happened.has(repeats.id)) return [world];
  const marked = answered ? world : { ...world, happened: new Set([...world.happened, id]) };
  if (request.kind === "delete") return [erased(marked, request.who, during, aheadMs)];
  return collected(marked, request.message, { from: repeats?.during.from ?? during.from, to: during.to });
}

/**
 * A message is dropped if it names an event time up to a cut-off of its identities, or if it arrived, at some time
 * during `began`, before a deletion that was accepted before it was stored. Otherwise it is applied.
 */
function collected(world: World, message: SentMessage, began: Span): World[] {
  const { time = Number.POSITIVE_INFINITY, who } = message;
  const cutOffs = who.flatMap((one) => world.cutOffs.get(one) ?? []);
  const mayBeDropped = cutOffs.some((cutOff) => time <= cutOff.time.to || began.from <= cutOff.order.to);
  const mayBeApplied = cutOffs.every((cutOff) => time > cutOff.time.from && began.to >= cutOff.order.from);
  return [...(mayBeDropped ? [world] : []), ...(mayBeApplied ? [applied(world, message)] : [])];
}

function applied(world: World, { number, who }: SentMessage): World {
  const named = world.entities.filter((entity) => entity.who.some((one) => who.includes(one)));
  const entity: Entity = {
    who: sorted([...who, ...named.flatMap((one) => one.who)]),
    messages: sorted([number, ...named.flatMap((one) => one.messages)]),
  };
  return { ...world, entities: [...world.entities.filter((one) => !named.includes(one)), entity] };
}

function erased(world: World, who: number, during: Span, aheadMs: number): World {
  const gone = entityOf(world, who);
  const cutOffs = new Map(world.cutOffs);
  for (const one of [who, ...(gone?.who ?? [])]) {
    const { order, time } = cutOffs.get(one) ?? NEVER;
    const own = { from: during.from + aheadMs, to: during.to + aheadMs };
    cutOffs.set(one, { order: combined(order, during, Math.max), time: combined(time, own, Math.max) });
  }
  return { ...world, entities: world.entities.filter((entity) => entity !== gone), cutOffs };
}

function entityOf({ entities }: World, who: number): Entity | undefined {
  return entities.find((entity) => entity.who.includes(who));
}

function textOf(shown: Shown): string {
  return shown === undefined ? "no profile" : `people ${shown.who} messages ${shown.messages}`;
}

function sorted(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** Merges worlds in which every read has the same result; the merged world has all possible times of deletions. */
function merged(worlds: readonly World[]): World[] {
  const known = new Map<string, World>();
  for (const world of worlds) {
    const key = `${world.entities.map(textOf).sort().join("; ")} / ${[...world.happened].sort()}`;
    const cutOffs = new Map(world.cutOffs);
    const same = known.get(key)?.cutOffs ?? cutOffs;
    for (const who of new Set([...same.keys(), ...cutOffs.keys()])) {
      const [one, other] = [same.get(who) ?? NEVER, cutOffs.get(who) ?? NEVER];
      cutOffs.set(who, {
        order: combined(one.order, other.order, Math.min),
        time: combined(one.time, other.time, Math.min),
      });
    }
    known.set(key, { ...world, cutOffs });
  }
  return [...known.values()];
}

const EARLIER: Span = { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
const NEVER: CutOff = { order: EARLIER, time: EARLIER };

function combined(one: Span, other: Span, from: typeof Math.min): Span {
  return { from: from(one.from, other.from), to: Math.max(one.to, other.to) };
}
