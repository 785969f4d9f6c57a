import { KeyedMutex } from "../async/keyed-mutex.js";
import { pacer } from "../async/yielding.js";
import type { BatchParts } from "./apply-batch.js";
import type { EntityId } from "./entity.js";
import { type BatchMessage, segmentsNamedIn } from "./message.js";
import type { PlanLimits, RefusedMessage } from "./plan-batch.js";

/** What is done with a part of a batch: `applyBatch`, or `checkBatch`. */
export type PartWork = (
  parts: BatchParts,
  batch: readonly BatchMessage[],
  limits: PlanLimits,
) => Promise<readonly RefusedMessage[]>;

/** Sealed bytes of the entities that one part opens: opened, they take ten times as much. */
const PART_BYTES = 4 * 1_048_576;

/** The same for all parts that are under way at once. */
const ALL_PARTS_BYTES = 16 * 1_048_576;

/** Statements about segments that one part brings: other requests wait while a commit writes them. */
const PART_STATEMENTS = 5_000;

/** Sealed bytes that one message may open. Its entities would have to be opened at once to see whether they fit into one. */
export const MERGE_BYTES = 8 * 1_048_576;

/**
 * Works through batches part by part, so that none opens more than fits into memory, however large the entities are. Batches
 * that name the same identity or the same entity run one after the other. Resolves with the messages over a limit.
 */
export function applyInParts(
  parts: BatchParts,
  work: PartWork,
): (batch: readonly BatchMessage[], limits: PlanLimits) => Promise<readonly RefusedMessage[]> {
  const mutex = new KeyedMutex();
  const memory = new Semaphore(ALL_PARTS_BYTES);

  return (batch, limits) =>
    mutex.run(new Set(batch.flatMap(({ hashes }) => hashes)), async () => {
      const weights = await weigh(parts, batch);
      return mutex.run(weights.entities, async () => {
        const refused: RefusedMessage[] = [];
        const pace = pacer();
        for (const part of split(batch, weights, refused)) {
          await pace();
          refused.push(...(await memory.take(part.bytes, () => work(parts, part.messages, limits))));
        }
        return refused;
      });
    });
}

interface Weights {
  readonly entities: ReadonlySet<EntityId>;
  /** The entities that a message is about, each with the bytes that it takes. */
  of(message: BatchMessage): ReadonlyMap<EntityId, number>;
}

async function weigh({ entities }: BatchParts, batch: readonly BatchMessage[]): Promise<Weights> {
  const found = await entities.weigh([...new Set(batch.flatMap(({ hashes }) => hashes))]);
  return {
    entities: new Set(Array.from(found.values(), ({ entity }) => entity)),
    of({ hashes }) {
      const named = hashes.flatMap((hash) => found.get(hash) ?? []);
      return new Map(named.map(({ entity, bytes }) => [entity, bytes]));
    },
  };
}

/** The messages in order, in parts. One that would merge too much is added to `refused` instead. */
function* split(
  batch: readonly BatchMessage[],
  weights: Weights,
  refused: RefusedMessage[],
): Generator<{ readonly messages: readonly BatchMessage[]; readonly bytes: number }> {
  let messages: BatchMessage[] = [];
  let open = new Set<EntityId>();
  let bytes = 0;
  let statements = 0;
  for (const message of batch) {
    const own = weights.of(message);
    const said = segmentsNamedIn(message.message).length;
    const ownBytes = sumOf(own);
    if (own.size > 1 && ownBytes > MERGE_BYTES) {
      refused.push({ message, reason: "merge_too_large" });
      continue;
    }
    let more = 0;
    for (const [entity, weight] of own) if (!open.has(entity)) more += weight;
    const isTooLarge = more > 0 && bytes + more > PART_BYTES;
    if (messages.length > 0 && (isTooLarge || statements + said > PART_STATEMENTS)) {
      yield { messages, bytes };
      messages = [];
      open = new Set();
      bytes = 0;
      statements = 0;
      more = ownBytes;
    }
    for (const entity of own.keys()) open.add(entity);
    bytes += more;
    messages.push(message);
    statements += said;
  }
  if (messages.length > 0) yield { messages, bytes };
}

function sumOf(weights: ReadonlyMap<EntityId, number>): number {
  let sum = 0;
  for (const bytes of weights.values()) sum += bytes;
  return sum;
}

/** Lets pieces of work run at the same time while together they weigh at most `most`; a heavier one runs alone. First come, first served. */
class Semaphore {
  readonly #most: number;
  readonly #waiting: { readonly weight: number; readonly begin: () => void }[] = [];
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async take<T>(weight: number, work: () => Promise<T>): Promise<T> {
    const own = Math.min(weight, this.#most);
    if (this.#waiting.length > 0 || !this.#fits(own)) {
      await new Promise<void>((begin) => this.#waiting.push({ weight: own, begin }));
    } else this.#taken += own;
    try {
      return await work();
    } finally {
      this.#taken -= own;
      this.#letIn();
    }
  }

  #fits(weight: number): boolean {
    return this.#taken + weight <= this.#most;
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.weight); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#taken += next.weight;
      next.begin();
    }
  }
}
