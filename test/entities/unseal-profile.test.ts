import { expect } from "chai";
import { yieldWhenDue } from "../../src/async/yielding.js";
import { newKeys, seal } from "../../src/entities/profile/encryption.js";
import { DECODED_BYTES } from "../../src/entities/profile/entity-document.js";
import { DamagedProfile, unsealProfile } from "../../src/entities/read/unseal-profile.js";
import { ServiceError } from "../../src/errors.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import { freshEntity } from "../support/commits.js";

describe("the decryption of a profile", () => {
  const budget = new MemoryBudget(2 ** 30);
  const large = freshEntity([], {});
  const keys = newKeys([large.id]);
  const plain = Buffer.alloc(1_000_000, "x");
  const [sealed] = seal(keys, [{ entity: large.id, plain }]);
  const profile = { ...large, sealed: sealed as Uint8Array };
  const opening = { damaged: () => {} };
  let end: () => void;
  const reservation = () =>
    budget.open((then) => {
      end = then;
    });

  it("runs for one large profile after another, each with its memory reserved", async () => {
    let open = 0;
    let most = 0;
    const work = async (bytes: Uint8Array) => {
      open += 1;
      most = Math.max(most, open);
      expect(budget.reserved).to.be.at.least((1 + DECODED_BYTES) * profile.sealed.length);
      expect(budget.reserved).to.be.at.most((8 + 2 * DECODED_BYTES) * profile.sealed.length);
      for (const until = performance.now() + 12; performance.now() < until; );
      await yieldWhenDue();
      open -= 1;
      return bytes.length;
    };
    const all = Array.from({ length: 8 }, () => unsealProfile(opening, keys, profile, reservation(), work));
    expect(await Promise.all(all)).to.deep.equal(all.map(() => plain.length));
    expect(most).to.equal(1);
    expect(budget.reserved).to.equal(0);
  });

  it("does not begin if its request ends while it waits", async () => {
    let isOpened = false;
    const opened = unsealProfile(opening, keys, profile, reservation(), () => {
      isOpened = true;
    });
    end();
    const error = await opened.catch((error: unknown) => error);
    expect(error).to.be.instanceOf(ServiceError).with.property("kind", "timed-out");
    expect([isOpened, budget.reserved]).to.deep.equal([false, 0]);
  });

  it("releases the memory of a damaged profile, and returns nothing without a key", async () => {
    const damaged = {
      ...profile,
      sealed: Uint8Array.from(profile.sealed, (byte, at) => (at === 99 ? byte ^ 1 : byte)),
    };
    const memory = reservation();
    const error = await unsealProfile(opening, keys, damaged, memory, () => 1).catch((error: unknown) => error);
    expect(error).to.be.instanceOf(DamagedProfile);
    expect(await unsealProfile(opening, new Map(), profile, memory, () => 1)).to.equal(undefined);
    expect(budget.reserved).to.equal(0);
  });
});
