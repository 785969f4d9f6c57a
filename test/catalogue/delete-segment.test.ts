import { expect } from "chai";
import { deleteSegment } from "../../src/catalogue/segments.js";
import type { Stores } from "../../src/stores/stores.js";
import { freshEntity, keep } from "../support/commits.js";
import { temporaryStores } from "../support/temporary-stores.js";

describe("deleting a segment", () => {
  let stores: Stores;
  beforeEach(async () => {
    stores = await temporaryStores();
    for (const id of ["gone", "stays"]) await stores.catalogue.putSegment({ id, name: id, table: "user" });
    await keep(stores.entities, freshEntity(), { said: [{ add: ["gone", "stays"], full: true }] });
  });
  afterEach(() => stores.close());

  const sizes = () => stores.memberships.sizes(["gone", "stays"]);
  const outcome = (work: Promise<void>) =>
    work.then(
      () => "done",
      (error) => error.kind ?? "failed",
    );
  it("ends its memberships and no others", async () => {
    expect(await outcome(deleteSegment("gone", 2, stores.catalogue))).to.equal("done");
    expect(await sizes()).to.deep.equal([0, 1]);
  });

  it("touches nothing while an experience names it", async () => {
    await stores.catalogue.putExperience({ id: "x", name: "x", audience: "stays", goal: "gone" });
    expect(await outcome(deleteSegment("gone", 2, stores.catalogue))).to.equal("conflict");
    expect(await sizes()).to.deep.equal([1, 1]);
  });

  it("says so when there is no such segment", async () => {
    expect(await outcome(deleteSegment("unknown", 2, stores.catalogue))).to.equal("not-found");
  });
});
