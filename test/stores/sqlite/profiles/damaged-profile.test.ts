import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { freshEntity, keep, newHash } from "../../../support/commits.js";
import { dataFolder } from "../../../support/data-folder.js";
import { storesOf } from "../../../support/stores.js";

const PAGE = 4_096;

describe("a damaged page of entities.db", () => {
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });

  const document = (text: string) => Buffer.from(text.repeat(100_000));
  /** Overwrites a page of the document that consists of this character. */
  function damage(character: string): void {
    const file = join(dir, "entities.db");
    const bytes = readFileSync(file);
    const start = Math.ceil((bytes.indexOf(document(character).subarray(0, 3_000)) + PAGE) / PAGE) * PAGE;
    writeFileSync(file, bytes.fill(0, start, start + PAGE));
  }

  it("hides the document of its profile, so that lists omit it and its deletion is accepted, and no other profile", async () => {
    const first = await storesOf(dir, undefined, false);
    const hash = newHash();
    const hidden = await keep(first.stores.entities, freshEntity([hash], { sealed: document("a") }));
    const whole = await keep(first.stores.entities, freshEntity([newHash()], { sealed: document("b") }));
    await first.close();
    damage("a");
    const { stores } = await storesOf(dir, undefined, false);
    const { profiles, left } = await stores.entities.load([whole.id, hidden.id]);
    expect(left).to.deep.equal([]);
    expect(profiles.get(hidden.id)).to.deep.equal({ ...hidden, sealed: new Uint8Array() });
    expect(Buffer.from(profiles.get(whole.id)?.sealed ?? []).equals(whole.sealed)).to.equal(true);
    expect((await stores.entities.find([hash])).profiles.get(hidden.id)?.sealed).to.have.length(0);
  });
});
