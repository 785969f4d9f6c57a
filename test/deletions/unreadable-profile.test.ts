import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import type { Stores } from "../../src/stores/stores.js";
import { type EntityStage, entityStage } from "../support/entity-stage.js";

describe("a live profile without a key", () => {
  let stage: EntityStage;
  /** Number of lookups of the identities of a batch. */
  let looks: number;

  async function open(wrap: (stores: Stores) => Partial<Stores> = () => ({})): Promise<string> {
    looks = 0;
    stage = await entityStage((stores) => ({
      entities: {
        ...stores.entities,
        find(hashes) {
          looks += 1;
          return stores.entities.find(hashes);
        },
      },
      ...wrap(stores),
    }));
    await stage.collect([{ _uid: "a", user_id: "id-a", secret: 1, segments: ["vip"] }, { _uid: "b" }]);
    const hash = stage.hashIdentity("user", { field: "_uid", value: "a" });
    looks = 0;
    return (await stage.stores.entities.find([hash])).owners.get(hash) ?? "";
  }

  it("is erased by the first message about it if its key was overwritten, and a new profile has the message", async () => {
    const old = await open();
    const { entities, memberships, history, entityKeys } = stage.stores;
    await entityKeys.destroy([old]);
    expect(
      await stage.collect([
        { _uid: "a", hello: 1 },
        { _uid: "b", hello: 2 },
      ]),
    ).to.deep.equal([]);
    expect(looks).to.be.lessThan(6);
    expect(await stage.read("_uid", "a")).to.deep.equal({ _uid: "a", hello: 1, segments: [] });
    expect(await stage.read("_uid", "b")).to.deep.equal({ _uid: "b", hello: 2, segments: [] });
    expect(await stage.read("user_id", "id-a")).to.equal(undefined);
    for (const port of [entities, memberships, history]) expect(await port.holds([old])).to.equal(false);
    expect(await memberships.sizes(["vip"])).to.deep.equal([0]);
  });

  it("is not changed if its key was never in this ledger, and messages about it are refused without retries", async () => {
    let missing = "";
    const old = await open(({ entityKeys }) => ({
      entityKeys: {
        ...entityKeys,
        read: (ids) => entityKeys.read(ids.filter((id) => id !== missing)),
        destroyed: async () => new Set(),
      },
    }));
    missing = old;
    const refused = await stage.collect([{ _uid: "a", hello: 1 }]).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ServiceError).with.property("kind", "unavailable");
    expect(looks).to.be.lessThan(6);
    missing = "";
    expect(await stage.read("user_id", "id-a")).to.include({ secret: 1 });
  });
});
