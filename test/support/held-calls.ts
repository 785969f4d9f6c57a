import type { Collection, Db, FindCursor } from "mongodb";

/** Wraps a call: may wait before it, fail instead, or lose its result. `name`: the method, or `collection.method`. */
export type Around = <T>(call: () => Promise<T>, name: string) => Promise<T>;

/** The port, each of its methods through `around`. */
export function portThrough<T extends object>(port: T, around: Around): T {
  return replacing(
    port,
    (name, method) =>
      (...args) =>
        around(async () => Reflect.apply(method, port, args), name),
  );
}

/** The ports of these names through `around`, and all others unchanged. */
export function portsThrough<T extends object, K extends keyof T & string>(
  ports: T,
  names: readonly K[],
  around: Around,
): T {
  const changed = names.map((name) => [name, portThrough(ports[name] as object, around)]);
  return { ...ports, ...Object.fromEntries(changed) };
}

/** The database, each operation on its collections through `around`; a `find` is one when its documents are read. */
export function databaseThrough(db: Db, around: Around): Db {
  return replacing(db, (name, method) => (...args) => {
    const result: unknown = Reflect.apply(method, db, args);
    if (name !== "collection") return result;
    return collectionThrough(result as Collection, (call, own) => around(call, `${args[0]}.${own}`));
  });
}

const OPERATIONS =
  /^(bulkWrite|insertMany|insertOne|deleteOne|deleteMany|updateOne|updateMany|replaceOne|findOne.*|countDocuments|distinct)$/;

function collectionThrough(collection: Collection, around: Around): Collection {
  return replacing(collection, (name, method) => (...args) => {
    const call = (): unknown => Reflect.apply(method, collection, args);
    if (name === "find") return cursorThrough(call() as FindCursor, around);
    return OPERATIONS.test(name) ? around(async () => call(), name) : call();
  });
}

function cursorThrough(cursor: FindCursor, around: Around): FindCursor {
  const through: FindCursor = replacing(cursor, (name, method) => (...args) => {
    if (name === "toArray") return around(() => cursor.toArray(), "find");
    const result: unknown = Reflect.apply(method, cursor, args);
    return result === cursor ? through : result;
  });
  return through;
}

type Method = (...args: unknown[]) => unknown;

function replacing<T extends object>(target: T, replace: (name: string, method: Method) => Method): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" && typeof name === "string" ? replace(name, value as Method) : value;
    },
  });
}

/** Holds one call, as in a process that gets no time, or fails all calls from one on, as in a process that dies. */
export class HeldCalls {
  /** Calls so far, held and failed ones included. */
  count = 0;
  #untilHeld = Number.POSITIVE_INFINITY;
  #heldName: string | undefined;
  #reach = () => {};
  #open: Promise<void> = Promise.resolve();
  #release = () => {};
  #untilDeath = Number.POSITIVE_INFINITY;
  #diesLate = false;
  #isDead = false;

  /** Holds the call after `calls` others from now on, of this name if it is given. Resolves when it is reached. */
  hold(calls = 0, name?: string): Promise<void> {
    this.#untilHeld = calls;
    this.#heldName = name;
    this.#open = new Promise((resolve) => {
      this.#release = resolve;
    });
    return new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  /** Releases the held call, and holds no later one. */
  release(): void {
    this.#untilHeld = Number.POSITIVE_INFINITY;
    this.#release();
  }

  /**
   * The process dies after `calls` more calls: each later one fails without being made; with 0 the held one, too.
   * `late`: the next one is made, and its result is lost.
   */
  die(calls = 0, late = false): void {
    this.#untilDeath = calls;
    this.#diesLate = late;
    this.#isDead = calls === 0 && !late;
    this.release();
  }

  /** Calls are made again, as by a new process. */
  revive(): void {
    this.#untilDeath = Number.POSITIVE_INFINITY;
    this.#isDead = false;
  }

  /** The wrapper of the calls. */
  readonly around: Around = async (call, name) => {
    this.count += 1;
    if (this.#heldName === undefined || this.#heldName === name) {
      this.#untilHeld -= 1;
      if (this.#untilHeld === -1) {
        this.#reach();
        await this.#open;
      }
    }
    if (this.#isDead) throw new Error("The process is dead");
    this.#untilDeath -= 1;
    this.#isDead = this.#untilDeath < 0;
    if (this.#isDead && !this.#diesLate) throw new Error("The process is dead");
    const answer = await call();
    if (this.#isDead) throw new Error("The process is dead");
    return answer;
  };
}
