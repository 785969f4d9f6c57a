import { Readable } from "node:stream";
import { expect } from "chai";
import type { Acceptance } from "../../src/deletions/accept-many.js";
import type { Deletion } from "../../src/deletions/deletion.js";
import type { StoredEntity } from "../../src/entities/profile/entity.js";
import type { Identity } from "../../src/entities/profile/identity.js";
import { ServiceError } from "../../src/errors.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import type { Stores } from "../../src/stores/stores.js";
import { ownTargets } from "../contracts/downstream-target.contract.js";
import { changeOf, commitOf } from "../support/commits.js";
import { until } from "../support/until.js";
import { type ErasureStage, erasureStage, type StageOptions } from "./erasure-stage.js";

const ann: Identity = { field: "email", value: "ann@example.org" };
const annsId: Identity = { field: "user_id", value: "ann-1" };
const ben: Identity = { field: "email", value: "ben@example.org" };

describe("a deletion request", () => {
  let stage: ErasureStage;

  async function open(options?: StageOptions): Promise<void> {
    stage = await erasureStage(options);
  }
  beforeEach(() => open());

  const request = (identity: Identity) => stage.deletions.accept("user", identity);
  const hash = (identity: Identity) => stage.hashIdentity("user", identity);
  const timesOf = async (...identities: Identity[]) =>
    new Map(
      [...(await stage.stores.suppression.cutOffs(identities.map(hash)))].map(([erased, { time }]) => [erased, time]),
    );
  const kept = async (requestId: string) => {
    const deletion = await stage.stores.ledger.find(requestId);
    if (deletion === undefined) throw new Error("There is no such request");
    return deletion;
  };

  it("covers the profile with all of its identities, and the targets that are configured", async () => {
    const entity = await stage.profile([ann, annsId]);
    const deletion = await kept(await request(ann));
    expect(deletion.entities).to.deep.equal([entity]);
    expect(deletion.hashes).to.have.members([hash(ann), hash(annsId)]);
    expect(deletion.targets).to.deep.equal(ownTargets);
    expect([...(await timesOf(annsId)).values()]).to.deep.equal([deletion.acceptedAt]);
  });

  it("has a cut-off after every earlier arrival", async () => {
    const arrival = stage.now();
    expect((await kept(await request(ann))).acceptedAt).to.be.greaterThan(arrival);
  });

  it("has its own id and cut-off if an equal request is open, and does not change that request", async () => {
    const entity = await stage.profile([ann, annsId]);
    const first = await request(ann);
    const before = await kept(first);
    const again = await kept(await request(ann));
    expect(again.requestId).to.not.equal(first);
    expect(again.acceptedAt).to.be.greaterThan(before.acceptedAt);
    expect(await kept(first)).to.deep.equal(before);
    expect(before.entities).to.deep.equal([entity]);
    expect(await timesOf(ann, annsId)).to.deep.equal(
      new Map([
        [hash(ann), again.acceptedAt],
        [hash(annsId), before.acceptedAt],
      ]),
    );
  });

  for (const { who, identity } of [
    { who: "a profile", identity: ann },
    { who: "no profile", identity: ben },
  ]) {
    it(`has its own id for each of 20 concurrent callers with the same identity, which leads to ${who}`, async () => {
      await stage.profile([ann]);
      const ids = await Promise.all(Array.from({ length: 20 }, () => request(identity)));
      expect(new Set(ids).size).to.equal(20);
      const accepted = (await stage.stores.ledger.since(0, 100)).map(({ deletion }) => deletion.requestId);
      expect(accepted).to.have.members(ids);
    });
  }

  it("does not erase a new profile with another identity of the erased one if it is repeated", async () => {
    await stage.profile([ann, annsId]);
    const first = await request(ann);
    await stage.stores.entities.erase((await kept(first)).entities);
    const returned = await stage.profile([annsId]);
    const again = await request(ann);
    for (const id of [first, again]) await stage.run(id);
    expect((await live(returned)).hashes).to.deep.equal([hash(annsId)]);
  });

  async function live(id: string): Promise<StoredEntity> {
    const profile = (await stage.stores.entities.load([id])).profiles.get(id);
    if (profile === undefined) throw new Error("The profile is not live");
    return profile;
  }

  /** Does something once, when a request has found its profile and is about to be accepted. */
  const beforeAccept =
    (work: (deletion: Deletion) => Promise<unknown>) =>
    ({ ledger }: Stores): Partial<Stores> => {
      let isDone = false;
      return {
        ledger: {
          ...ledger,
          async accept(deletion, scope) {
            if (!isDone) await work(deletion);
            isDone = true;
            return ledger.accept(deletion, scope);
          },
        },
      };
    };

  it("covers a profile that was stored between its lookup and its acceptance", async () => {
    let raced: string | undefined;
    const since = 1000;
    await open({
      wrap: beforeAccept(async () => {
        raced = await stage.profile([ann, annsId], { since });
      }),
    });
    const deletion = await kept(await request(ann));
    expect(deletion.entities).to.include(raced);
    expect(deletion.hashes).to.have.members([hash(ann), hash(annsId)]);
  });

  /** Flips one bit of each stored document that is read. */
  function damaged({ entities }: Stores): Partial<Stores> {
    return {
      entities: {
        ...entities,
        async find(hashes, maxBytes) {
          const found = await entities.find(hashes, maxBytes);
          const profiles = Array.from(found.profiles, ([id, { sealed, ...rest }]) => {
            const flipped = Uint8Array.from(sealed);
            flipped[20] = (flipped[20] ?? 0) ^ 1;
            return [id, { ...rest, sealed: flipped }] as const;
          });
          return { ...found, profiles: new Map(profiles) };
        },
      },
    };
  }

  it("covers a profile whose document is damaged, by the identities that lead to it, and is completed", async () => {
    await open({ wrap: damaged });
    const entity = await stage.profile([ann, annsId]);
    const requestId = await request(ann);
    const deletion = await kept(requestId);
    expect(deletion.entities).to.deep.equal([entity]);
    expect(deletion.hashes).to.have.members([hash(ann), hash(annsId)]);
    await stage.run(requestId);
    expect((await kept(requestId)).completedAt).to.be.a("number");
    expect(await stage.stores.entities.holds([entity])).to.equal(false);
  });

  it("is not accepted if the keys of its profile cannot be read", async () => {
    const unreachable = new ServiceError("unavailable", "The ledger is unreachable");
    await open({
      wrap: ({ entityKeys }) => ({ entityKeys: { ...entityKeys, read: () => Promise.reject(unreachable) } }),
    });
    await stage.profile([ann]);
    expect(await request(ann).catch((error: unknown) => error)).to.equal(unreachable);
    expect(await stage.stores.ledger.count("all")).to.equal(0);
  });

  async function acceptAll(people: readonly Identity[], repeatName?: string): Promise<Acceptance[]> {
    const items = people.map((identity) => ({
      text: identity.value,
      bytes: 100,
      parse: () => ({ table: "user", identity }),
      place: (path: string) => path,
    }));
    const batches = stage.deletions.acceptMany({
      items: Readable.from([items]),
      memory: new MemoryBudget(1_000_000).open(() => {}),
      late: new AbortController().signal,
      repeatName,
    });
    const all: Acceptance[] = [];
    for await (const batch of batches) all.push(...batch);
    return all;
  }

  it("for many people reads few profiles at once, and other requests run in between", async () => {
    let concurrent = 0;
    let most = 0;
    await open({
      wrap: ({ entities }) => ({
        entities: {
          ...entities,
          async find(hashes, maxBytes) {
            concurrent += 1;
            most = Math.max(most, concurrent);
            const found = await entities.find(hashes, maxBytes);
            for (const until = performance.now() + 10; performance.now() < until; );
            concurrent -= 1;
            return found;
          },
        },
      }),
    });
    const people = Array.from({ length: 40 }, (_, n) => ({ field: "user_id", value: `p${n}` }));
    for (const person of people) await stage.profile([person]);
    let rounds = 0;
    const ticking = setInterval(() => {
      rounds += 1;
    }, 1);
    try {
      expect(await acceptAll(people)).to.have.length(40);
    } finally {
      clearInterval(ticking);
    }
    expect(most).to.be.at.most(4);
    expect(rounds).to.be.at.least(5);
  });

  it("that is repeated has the id of its first run, also if the ledger keeps completed requests for an hour", async () => {
    let time = Date.now();
    let removals = 0;
    await open({
      clock: () => time,
      retentionMs: 3_600_000,
      wrap: ({ ledger }) => ({
        ledger: { ...ledger, expire: (...args) => ledger.expire(...args).finally(() => (removals += 1)) },
      }),
    });
    const run = () => acceptAll([ann], "a request");
    const [first] = (await run()) as { requestId: string }[];
    await stage.run(first?.requestId ?? "");
    time += 2 * 3_600_000;
    stage.deletions.start();
    await until("old requests are removed", () => removals > 0);
    expect(await run()).to.deep.equal([{ ...first, completed: true }]);
  });

  it("covers the profile that an identity in the document of the found one leads to", async () => {
    const entity = await stage.profile([ann, annsId]);
    const newer = await stage.profile([ben]);
    const taken = commitOf([changeOf({ ...(await live(newer)), hashes: [hash(annsId)] })], {
      owners: new Map([[hash(annsId), entity]]),
    });
    expect(await stage.stores.entities.commit(taken)).to.equal(true);
    const deletion = await kept(await request(ann));
    expect(deletion.entities).to.have.members([entity, newer]);
    expect(deletion.hashes).to.have.members([hash(ann), hash(annsId), hash(ben)]);
  });
});
