import { randomBytes } from "node:crypto";
import { expect } from "chai";
import type { Db } from "mongodb";
import type { EntityId, StoredEntity } from "../../src/entities/entity.js";
import type { EntityChange, EntityStore } from "../../src/entities/entity-store.js";
import type { IdentityHash } from "../../src/entities/identity.js";
import { entityRecords } from "../../src/stores/mongodb/entity-records.js";
import { mongoEntityStore } from "../../src/stores/mongodb/entity-store.js";

const ATTEMPTS = 40;

/** Several processes that write to the same profiles by the rules of the domain, and what must be true of the result. */
export class EntityWriters {
  /** Ids that the ledger names. */
  readonly erased = new Set<EntityId>();
  readonly #db: Db;
  readonly #ids = new Set<EntityId>();
  readonly #said = new Map<string, readonly IdentityHash[]>();
  readonly #erasedFacts = new Set<string>();
  #now = 1_700_000_000_000;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Each look at the clock takes 200 ms. */
  readonly clock = () => {
    this.#now += 200;
    return this.#now;
  };

  /** A process of its own. */
  store(db = this.#db): EntityStore {
    return mongoEntityStore(db, this.clock);
  }

  newHash(): IdentityHash {
    return randomBytes(32).toString("hex");
  }

  /** An entity that is not stored yet. */
  fresh(hashes: readonly IdentityHash[], facts: readonly string[] = []): StoredEntity {
    const id = randomBytes(16).toString("hex");
    this.#ids.add(id);
    const bindings = hashes.map((hash) => ({ hash, since: 1 }));
    return { id, table: "user", revision: 0, born: this.#ids.size, bindings, joined: [], sealed: sealedOf(facts) };
  }

  /** What comes of a message, made from what is stored now. */
  async prepare(store: EntityStore, hashes: readonly IdentityHash[], fact: string): Promise<EntityChange> {
    const owners = await store.owners(hashes);
    const live = (await this.#live(store, owners.values())).sort((a, b) => a.born - b.born);
    const usable = live.filter((entity) => !idsOf(entity).some((id) => this.erased.has(id)));
    const root = usable[0] ?? this.fresh([]);
    const others = usable.slice(1);
    const bindings = new Map([root, ...others].flatMap((entity) => entity.bindings.map(({ hash }) => [hash, 1])));
    for (const hash of hashes) bindings.set(hash, 1);
    const facts = new Set([...[root, ...others].flatMap(factsOf), fact]);
    return {
      entity: {
        ...root,
        bindings: Array.from(bindings, ([hash, since]) => ({ hash, since })),
        joined: [...new Set([...root.joined, ...others.flatMap(idsOf)])],
        sealed: sealedOf([...facts]),
      },
      absorbs: others.map(({ id, revision }) => ({ id, revision })),
      releasedBy: [...owners.values()].filter((id) => !usable.some((entity) => entity.id === id)),
    };
  }

  /** Keeps a message, as often as it takes. */
  async say(store: EntityStore, hashes: readonly IdentityHash[], fact: string): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const [saved] = await store.save([await this.prepare(store, hashes, fact)]);
      if (!saved) continue;
      this.#said.set(fact, hashes);
      return;
    }
    throw new Error("Too much is written to the same entities at once");
  }

  /** A deletion from its acceptance to its end. */
  async erase(store: EntityStore, hash: IdentityHash): Promise<void> {
    const ids = new Set<EntityId>();
    for (let round = 0; round < ATTEMPTS; round += 1) {
      const owners = await store.owners([hash]);
      const live = await this.#live(store, [...owners.values(), ...ids]);
      const news = live.filter((entity) => ids.size === 0 || idsOf(entity).some((id) => ids.has(id)));
      const before = ids.size;
      for (const id of news.flatMap(idsOf)) ids.add(id);
      for (const fact of news.flatMap(factsOf)) if (this.#said.has(fact)) this.#erasedFacts.add(fact);
      for (const id of ids) this.erased.add(id);
      if (ids.size === before) break;
      await store.fence([...ids]);
    }
    await store.erase([...ids]);
  }

  async #live(store: EntityStore, ids: Iterable<EntityId>): Promise<StoredEntity[]> {
    const live = new Map<EntityId, StoredEntity>();
    for (let next = new Set(ids); next.size > 0; ) {
      const states = await store.load([...next]);
      next = new Set();
      for (const [id, found] of states) {
        if (found.state === "live") live.set(id, found.entity);
        if (found.state === "joined" && !live.has(found.into)) next.add(found.into);
      }
    }
    return [...live.values()];
  }

  /** What must be true when nobody is at work. */
  async check(store = this.store()): Promise<void> {
    const records = entityRecords(this.#db, this.clock);
    const states = await store.load([...this.#ids]);
    const live = [...states.values()].flatMap((state) => (state.state === "live" ? [state.entity] : []));
    const owners = new Map<IdentityHash, EntityId>();
    for (const { id, bindings } of live.filter((entity) => !this.erased.has(entity.id))) {
      for (const { hash } of bindings) {
        expect(owners.get(hash), "an identity has one owner").to.equal(undefined);
        owners.set(hash, id);
      }
    }
    expect(await store.owners([...owners.keys()]), "each identity leads to its owner").to.deep.equal(owners);
    for (const [id, state] of states) {
      if (state.state !== "joined") continue;
      const end = await this.#end(store, state.into);
      expect(end, `${id} ends somewhere`).to.be.oneOf(["live", "dead"]);
    }
    for (const [fact, hashes] of this.#said) {
      const homes = live.filter((entity) => factsOf(entity).includes(fact));
      if (this.#erasedFacts.has(fact)) expect(homes, `${fact} does not come back`).to.deep.equal([]);
      else if (homes.length > 0 || !this.#anyErased) {
        for (const hash of hashes) expect(owners.get(hash), `${fact} is kept`).to.equal(homes[0]?.id);
      }
    }
    const erased = await store.load([...this.erased]);
    expect([...erased.values()].filter(({ state }) => state !== "dead")).to.deep.equal([]);
    const pointers = await records.identities.find({}).toArray();
    for (const { entity } of pointers)
      expect(this.erased.has(entity), "nothing leads to who was erased").to.equal(false);
  }

  get #anyErased(): boolean {
    return this.erased.size > 0;
  }

  async #end(store: EntityStore, id: EntityId): Promise<string | undefined> {
    const state = (await store.load([id])).get(id);
    return state?.state === "joined" ? this.#end(store, state.into) : state?.state;
  }
}

function idsOf({ id, joined }: StoredEntity): EntityId[] {
  return [id, ...joined];
}

function sealedOf(facts: readonly string[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(facts));
}

export function factsOf({ sealed }: StoredEntity): string[] {
  return JSON.parse(new TextDecoder().decode(sealed)) as string[];
}
