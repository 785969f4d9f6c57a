/**
 * Possible results of reads while several clients write, erase and read concurrently through several processes: each
 * request takes effect at one instant between its start and its response. A request without a response takes effect
 * once, later or never.
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
  /** Slot in which it is counted. */
  readonly slot: string;
}

/** The result of a read of an identity; undefined: no profile. */
export type Shown = { readonly who: readonly number[]; readonly messages: readonly number[] } | undefined;

export type Request =
  | { readonly kind: "collect"; readonly messages: readonly SentMessage[] }
  | { readonly kind: "delete"; readonly who: number }
  | { readonly kind: "read"; readonly who: number; readonly shown: Shown };

/** A request that was made. */
export interface Operation {
  readonly id: number;
  readonly request: Request;
  /** From its start until its response, or until it is certain that there will be none. */
  readonly during: Span;
  readonly answered: boolean;
  /** Index of the process that received it, of two. */
  readonly through: number;
  /** Lead of the clock of that process, ms; 0 if absent. */
  readonly aheadMs?: number;
  /** The operation without an answer that this one repeats under the same idempotency key. */
  readonly repeats?: Operation;
}

/** Bounds of a number. */
export interface Count {
  readonly least: number;
  readonly most: number;
}

interface Entity {
  readonly who: readonly number[];
  readonly messages: readonly number[];
  /** Text of both, for comparisons. */
  readonly text: string;
}

/** The newest deletion of a person. */
interface CutOff {
  /** When it was accepted. */
  readonly order: Span;
  /** Its cut-off, by the clocks of the processes. Event times that messages name are compared with it. */
  readonly time: Span;
}

/** One state that is consistent with the responses. */
export interface World {
  readonly entities: readonly Entity[];
  readonly cutOffs: ReadonlyMap<number, CutOff>;
  /** Operations without an answer that have taken effect. */
  readonly happened: ReadonlySet<number>;
  readonly counts: ReadonlyMap<string, Count>;
}

/** An operation of the current group, with the operations that ended before it began. */
interface Placed {
  readonly operation: Operation;
  readonly bit: bigint;
  readonly after: bigint;
}

interface Node {
  readonly done: bigint;
  readonly world: World;
}

/** Every possible result of the operations, in any possible order; they concern only these people. */
export function explained(
  worlds: readonly World[],
  operations: readonly Operation[],
  people: ReadonlySet<number>,
): World[] {
  // Worlds that differ only in other people are merged.
  const isInside = (entity: Entity) => entity.who.some((one) => people.has(one));
  const own = new Set(operations.flatMap(({ id, repeats }) => [id, ...(repeats === undefined ? [] : [repeats.id])]));
  const parts = worlds.map((world) => ({
    inside: {
      ...world,
      entities: world.entities.filter(isInside),
      cutOffs: new Map([...world.cutOffs].filter(([who]) => people.has(who))),
      happened: new Set([...world.happened].filter((id) => own.has(id))),
      counts: new Map(),
    },
    outside: world,
  }));
  const found = new Map(
    merged(parts.map(({ inside }) => inside)).map((inside) => [keyOf(inside), search(inside, operations)]),
  );
  return merged(
    parts.flatMap(({ inside, outside }) =>
      (found.get(keyOf(inside)) ?? []).map((one) => ({
        entities: [...outside.entities.filter((entity) => !isInside(entity)), ...one.entities],
        cutOffs: new Map([...outside.cutOffs, ...one.cutOffs]),
        happened: new Set([...outside.happened, ...one.happened]),
        counts: united(outside.counts, one.counts, NONE, (a, b) => ({
          least: a.least + b.least,
          most: a.most + b.most,
        })),
      })),
    ),
  );
}

function search(world: World, operations: readonly Operation[]): World[] {
  const ordered = [...operations].sort((one, other) => one.during.from - other.during.from);
  const placed = ordered.map((operation, index): Placed => {
    const isBefore = (other: Operation) => other.answered && other.during.to < operation.during.from;
    const before = ordered.map((other, at) => (isBefore(other) ? 1n << BigInt(at) : 0n));
    return { operation, bit: 1n << BigInt(index), after: before.reduce((all, bit) => all | bit, 0n) };
  });
  const reads = placed.filter(({ operation }) => operation.request.kind === "read");
  const writes = placed.filter(({ operation }) => operation.request.kind !== "read");
  const needed = placed.filter(({ operation }) => operation.answered).reduce((all, { bit }) => all | bit, 0n);
  const found: World[] = [];
  let layer: readonly Node[] = [{ done: 0n, world }];
  let tried = 0;
  while (layer.length > 0) {
    tried += layer.length;
    if (tried > MAX_TRIED) {
      throw new Error(`The orders of ${operations.length} operations are too many to try`);
    }
    layer = mergedNodes(nextLayer(layer)).filter((node) => mayBeShown(node, reads, writes));
  }
  return merged(found);

  /** Yields one node at a time: most are merged at once, and together they would not fit into memory. */
  function* nextLayer(nodes: readonly Node[]): Iterable<Node> {
    for (const node of nodes) {
      const { world } = node;
      const done = withReads(node, reads);
      if ((done & needed) === needed) found.push(world);
      for (const { operation, bit, after } of writes) {
        if ((done & bit) !== 0n || (after & ~done) !== 0n || world.happened.has(operation.id)) continue;
        for (const changed of outcomes(world, operation)) yield { done: done | bit, world: changed };
      }
    }
  }
}

/** Far above the need of one turn; up to this size the search takes at most about a minute. */
const MAX_TRIED = 1_000_000;

/** Applies each read whose result equals this world; reads change nothing. They are in order of their starts. */
function withReads({ done, world }: Node, reads: readonly Placed[]): bigint {
  let taken = done;
  for (const { operation, bit, after } of reads) {
    if ((taken & bit) !== 0n || (after & ~taken) !== 0n || operation.request.kind !== "read") continue;
    const { who, shown } = operation.request;
    const text = shown === undefined ? undefined : textOf(shown);
    if (shownIn(world, who) === text) taken |= bit;
  }
  return taken;
}

/** Whether the remaining operations can produce the results of the remaining reads; prunes the search. */
function mayBeShown({ done, world }: Node, reads: readonly Placed[], writes: readonly Placed[]): boolean {
  const left = writes.filter(({ bit, operation }) => (done & bit) === 0n && !world.happened.has(operation.id));
  const collects = left.flatMap(({ operation: { request } }) => (request.kind === "collect" ? request.messages : []));
  const mayCome = new Set(collects.map(({ number }) => number));
  const named = new Set(collects.flatMap(({ who }) => who));
  const erased = left.flatMap(({ operation: { request } }) => (request.kind === "delete" ? [request.who] : []));
  return reads.every(({ bit, operation: { request } }) => {
    if ((done & bit) !== 0n || request.kind !== "read") return true;
    const { who, shown } = request;
    const now = entityOf(world, who);
    const isTooMuch = now?.messages.some((number) => !shown?.messages.includes(number)) ?? false;
    const mayMerge = now?.who.some((one) => named.has(one));
    if (isTooMuch && !erased.some((one) => mayMerge || now?.who.includes(one))) return false;
    if (shown === undefined) return true;
    const near = shown.who.flatMap((one) => entityOf(world, one) ?? []).filter((one) => one !== now || !isTooMuch);
    return shown.messages.every((number) => mayCome.has(number) || near.some((one) => one.messages.includes(number)));
  });
}

/** The worlds that an operation may lead to when it takes effect in this one. */
export function outcomes(world: World, operation: Operation): World[] {
  const { id, request, during, answered, repeats, aheadMs = 0 } = operation;
  if (request.kind === "read") return [world];
  if (repeats !== undefined && world.happened.has(repeats.id)) return [world];
  const marks = [...(answered ? [] : [id]), ...(repeats === undefined ? [] : [repeats.id])];
  const marked = marks.length === 0 ? world : { ...world, happened: new Set([...world.happened, ...marks]) };
  if (request.kind === "delete") return [erased(marked, request.who, during, aheadMs)];
  const began = { from: repeats?.during.from ?? during.from, to: during.to };
  return request.messages.reduce<World[]>(
    (worlds, message) => worlds.flatMap((one) => collected(one, message, began)),
    [marked],
  );
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

function applied(world: World, { number, who, slot }: SentMessage): World {
  const named = world.entities.filter((entity) => entity.who.some((one) => who.includes(one)));
  const shown = {
    who: sorted([...who, ...named.flatMap((one) => one.who)]),
    messages: sorted([number, ...named.flatMap((one) => one.messages)]),
  };
  const entity: Entity = { ...shown, text: textOf(shown) };
  const { least, most } = world.counts.get(slot) ?? NONE;
  return {
    ...world,
    entities: [...world.entities.filter((one) => !named.includes(one)), entity],
    counts: new Map([...world.counts, [slot, { least: least + 1, most: most + 1 }]]),
  };
}

function erased(world: World, who: number, during: Span, aheadMs: number): World {
  const gone = entityOf(world, who);
  const cutOffs = new Map(world.cutOffs);
  for (const one of [who, ...(gone?.who ?? [])]) {
    const { order, time } = cutOffs.get(one) ?? { order: NEVER, time: NEVER };
    const own = { from: during.from + aheadMs, to: during.to + aheadMs };
    cutOffs.set(one, { order: combined(order, during, Math.max), time: combined(time, own, Math.max) });
  }
  return { ...world, entities: world.entities.filter((entity) => entity !== gone), cutOffs };
}

export function entityOf({ entities }: World, who: number): Entity | undefined {
  return entities.find((entity) => entity.who.includes(who));
}

export function shownIn(world: World, who: number): string | undefined {
  return entityOf(world, who)?.text;
}

function textOf({ who, messages }: Pick<Entity, "who" | "messages">): string {
  return `people ${who} messages ${messages}`;
}

function sorted(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/**
 * Merges worlds in which every read has the same result; the merged world has all possible states of the other data.
 */
export function merged(worlds: readonly World[]): World[] {
  return mergedNodes(worlds.map((world) => ({ done: 0n, world }))).map(({ world }) => world);
}

function mergedNodes(nodes: Iterable<Node>): Node[] {
  const known = new Map<string, Node>();
  for (const node of nodes) {
    const key = `${node.done} ${keyOf(node.world)}`;
    const same = known.get(key)?.world;
    if (same === undefined) known.set(key, node);
    else {
      const counts = united(same.counts, node.world.counts, NONE, (one, other) => ({
        least: Math.min(one.least, other.least),
        most: Math.max(one.most, other.most),
      }));
      const cutOffs = united(same.cutOffs, node.world.cutOffs, { order: NEVER, time: NEVER }, (one, other) => ({
        order: combined(one.order, other.order, Math.min),
        time: combined(one.time, other.time, Math.min),
      }));
      known.set(key, { done: node.done, world: { ...same, counts, cutOffs } });
    }
  }
  return [...known.values()];
}

const NONE: Count = { least: 0, most: 0 };
const NEVER: Span = { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };

function combined(one: Span, other: Span, from: typeof Math.min): Span {
  return { from: from(one.from, other.from), to: Math.max(one.to, other.to) };
}

function keyOf({ entities, happened }: World): string {
  return `${entities
    .map(({ text }) => text)
    .sort()
    .join("; ")} / ${[...happened].sort()}`;
}

function united<K, V>(a: ReadonlyMap<K, V>, b: ReadonlyMap<K, V>, none: V, unite: (one: V, other: V) => V): Map<K, V> {
  return new Map([...a.keys(), ...b.keys()].map((key) => [key, unite(a.get(key) ?? none, b.get(key) ?? none)]));
}
