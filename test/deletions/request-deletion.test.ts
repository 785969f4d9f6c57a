import { expect } from "chai";
import type { Identity } from "../../src/entities/identity.js";
import { type ErasureStage, erasureStage, type StageOptions } from "../support/erasure-stage.js";

const ann: Identity = { field: "email", value: "ann@example.org" };
const annsId: Identity = { field: "user_id", value: "ann-1" };
const ben: Identity = { field: "email", value: "ben@example.org" };

describe("a deletion request", () => {
  let stage: ErasureStage;

  async function open(options?: StageOptions): Promise<void> {
    await stage?.close();
    stage = await erasureStage(options);
  }
  beforeEach(() => open());
  afterEach(async () => {
    await stage.close();
    stage = undefined as unknown as ErasureStage;
  });

  const request = (identity: Identity) => stage.erasure.request("user", identity);
  const hash = (identity: Identity) => stage.hashIdentity("user", identity);
  const kept = async (requestId: string) => {
    const deletion = await stage.stores.ledger.find(requestId);
    if (deletion === undefined) throw new Error("There is no such request");
    return deletion;
  };

  it("has an id of 20 hex characters and the epoch second, nothing of the identity in it", async () => {
    const before = Math.floor(Date.now() / 1000);
    const id = await request(ann);
    expect(id).to.match(/^[0-9a-f]{20}-\d+$/);
    expect(Number(id.split("-")[1])).to.be.within(before, before + 5);
  });

  it("names the entity, every identity known of it, and the targets of its time", async () => {
    const entity = await stage.profile([ann, annsId]);
    const deletion = await kept(await request(ann));
    expect(deletion.entities).to.deep.equal([deletion.sealer, entity]);
    expect(deletion.hashes).to.have.members([hash(ann), hash(annsId)]);
    expect(deletion.targets).to.deep.equal(["membership-index", "history-archive"]);
    expect([...(await stage.stores.suppression.cutOffs([hash(annsId)])).values()]).to.deep.equal([deletion.cutOff]);
  });

  it("has a cut-off that no arrival before it reaches", async () => {
    const arrival = stage.now();
    expect((await kept(await request(ann))).cutOff).to.be.greaterThan(arrival);
  });

  it("is kept for an identity that nobody has", async () => {
    const deletion = await kept(await request(ben));
    expect(deletion.hashes).to.deep.equal([hash(ben)]);
    expect(deletion.entities).to.deep.equal([deletion.sealer]);
    await stage.erasure.run(deletion.requestId);
    expect((await kept(deletion.requestId)).completedAt).to.be.a("number");
  });

  it("is the same one when it is repeated while open, with the cut-off moved to now", async () => {
    await stage.profile([ann]);
    const first = await request(ann);
    const { cutOff } = await kept(first);
    expect(await request(ann)).to.equal(first);
    expect((await kept(first)).cutOff).to.be.greaterThan(cutOff);
  });

  it("is one when many ask for the same identity at once", async () => {
    await stage.profile([ann]);
    const ids = await Promise.all(Array.from({ length: 20 }, () => request(ann)));
    expect(new Set(ids).size).to.equal(1);
  });

  it("is another one for another identity of the same entity, which is complete only after the first", async () => {
    const entity = await stage.profile([ann, annsId]);
    const asked = await Promise.all([request(ann), request(annsId)]);
    // Of two at once either may be accepted first.
    const accepted = (await stage.stores.ledger.since(0, 10)).map(({ deletion }) => deletion.requestId);
    expect(accepted).to.have.members(asked);
    const [first, second] = accepted as [string, string];
    await stage.erasure.run(second);
    expect((await kept(second)).completedAt).to.equal(undefined);
    await stage.erasure.run(first);
    expect((await kept(first)).completedAt).to.be.a("number");
    expect(await stage.stores.entities.holds([entity])).to.equal(false);
    expect(await stage.stores.history.holds([entity])).to.equal(false);
    await stage.erasure.sweeper.sweep();
    expect((await kept(second)).completedAt).to.be.a("number");
  });

  it("is another one once somebody has come back, and the first leaves that profile alone", async () => {
    await stage.profile([ann]);
    const first = await request(ann);
    await stage.stores.entities.erase((await kept(first)).entities);
    const returned = await stage.profile([ann]);
    const second = await request(ann);
    expect(second).to.not.equal(first);
    expect((await kept(second)).entities).to.include(returned);
    expect((await kept(first)).entities).to.not.include(returned);
  });

  it("leaves a profile that came back by another identity, when it is repeated", async () => {
    await stage.profile([ann, annsId]);
    const first = await request(ann);
    await stage.stores.entities.erase((await kept(first)).entities);
    const returned = await stage.profile([annsId]);
    const again = await request(ann);
    for (const id of new Set([first, again])) await stage.erasure.run(id);
    expect([...(await stage.stores.entities.load([returned])).values()][0]?.state).to.equal("live");
    const { bindings } = await live(returned);
    const cutOffs = await stage.stores.suppression.cutOffs(bindings.map((binding) => binding.hash));
    for (const binding of bindings) expect(cutOffs.get(binding.hash)).to.be.lessThan(binding.since);
  });

  async function live(id: string) {
    const state = (await stage.stores.entities.load([id])).get(id);
    if (state?.state !== "live") throw new Error("The profile is not live");
    return state.entity;
  }

  it("takes in a profile that was written between the look and the accept", async () => {
    let raced: string | undefined;
    const since = 1000;
    await open({
      wrap: ({ ledger }) => ({
        ledger: {
          ...ledger,
          async accept(deletion) {
            raced = await stage.profile([ann, annsId], { since });
            return ledger.accept(deletion);
          },
        },
      }),
    });
    const deletion = await kept(await request(ann));
    expect(deletion.entities).to.include(raced);
    expect(deletion.hashes).to.have.members([hash(ann), hash(annsId)]);
  });

  it("takes in the entity that its own was joined into in the moment of the accept", async () => {
    let root = "";
    await open({
      wrap: ({ ledger, entities }) => ({
        ledger: {
          ...ledger,
          async accept(deletion) {
            const entity = await live(deletion.entities[1] as string);
            const into = await live(root);
            await entities.save([
              {
                entity: { ...into, bindings: [...into.bindings, ...entity.bindings], joined: [entity.id] },
                absorbs: [{ id: entity.id, revision: entity.revision }],
                releasedBy: [],
              },
            ]);
            return ledger.accept(deletion);
          },
        },
      }),
    });
    const entity = await stage.profile([ann]);
    root = await stage.profile([ben]);
    const id = await request(ann);
    expect((await kept(id)).entities).to.include.members([entity, root]);
    expect((await kept(id)).hashes).to.have.members([hash(ann), hash(ben)]);
    await stage.erasure.run(id);
    expect(await stage.stores.entities.holds([entity, root])).to.equal(false);
  });

  it("suppresses an identity that is written in the profile but leads to a newer one by now, and leaves that one", async () => {
    const entity = await stage.profile([ann, annsId]);
    const newer = await stage.profile([ben]);
    const since = (await live(newer)).bindings[0]?.since ?? 0;
    await stage.stores.entities.save([
      {
        entity: { ...(await live(newer)), bindings: [{ hash: hash(annsId), since: since + 60_000 }] },
        absorbs: [],
        releasedBy: [entity],
      },
    ]);
    const deletion = await kept(await request(ann));
    expect(deletion.entities).to.include(entity).and.not.include(newer);
    expect(deletion.hashes).to.have.members([hash(ann), hash(annsId)]);
  });

  it("makes the save of a writer fail that had looked before it, and drops what is too old", async () => {
    const entity = await stage.profile([ann]);
    const before = await live(entity);
    const time = stage.now();
    const sealed = Uint8Array.of(1);
    const pending = {
      table: "user",
      stream: "web",
      arrival: time,
      position: 0,
      sealed,
      hashes: [hash(ann), hash(ben)],
    };
    const other = await stage.profile([ben]);
    const bens = await live(other);
    await stage.stores.history.append([
      { ...pending, id: "old", entity: other, time },
      { ...pending, id: "new", entity: other, time: time + 600_000 },
    ]);
    await request(ann);
    const saves = [before, bens].map((profile) => ({ entity: profile, absorbs: [], releasedBy: [] }));
    expect(await stage.stores.entities.save(saves)).to.deep.equal([false, false]);
    const left = await stage.stores.history.pendingFor([hash(ben)], []);
    expect(left.map(({ id }) => id)).to.deep.equal(["new"]);
  });
});
