import { expect } from "chai";
import { batchSealing, type Sealing, sealing } from "../../src/entities/profile/encryption.js";
import { decodeDocument, type EntityDocument, encodeDocument } from "../../src/entities/profile/entity-document.js";
import type { Stores } from "../../src/stores/stores.js";
import { newKeys } from "../contracts/entity-keys.contract.js";
import { commitOf } from "../support/commits.js";
import { temporaryStores } from "../support/stores.js";

const [ann, bob] = ["a".repeat(32), "b".repeat(32)] as const;
const plain = Buffer.from("ann@example.org");

describe("sealed bytes", () => {
  let stores: Stores;
  let seals: Sealing;

  before(async () => {
    stores = await temporaryStores();
    seals = sealing(stores.entityKeys);
    await addKeys([ann, bob]);
  });
  after(() => stores.close());

  const addKeys = (ids: readonly string[]) => stores.entities.commit(commitOf([], { keys: newKeys(ids) }));
  const sealFor = async (entity: string) => (await seals.seal([{ entity, plain }]))[0] as Uint8Array;
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => "nothing",
      (error: Error) => error.message,
    );

  it("open again to what they were", async () => {
    const sealed = await seals.seal([
      { entity: ann, plain },
      { entity: bob, plain: Buffer.alloc(0) },
    ]);
    const opened = await seals.open(
      sealed.map((bytes, i) => ({ entity: [ann, bob][i] as string, sealed: new Uint8Array(bytes) })),
    );
    expect(opened.map((bytes) => Buffer.from(bytes as Uint8Array).toString())).to.deep.equal(["ann@example.org", ""]);
  });

  it("show nothing, and never look the same twice", async () => {
    const [once, twice] = [await sealFor(ann), await sealFor(ann)];
    expect(Buffer.from(once).includes("ann")).to.equal(false);
    expect(Buffer.from(once).equals(twice)).to.equal(false);
  });

  it("open for no other entity", async () => {
    expect(await failure(seals.open([{ entity: bob, sealed: await sealFor(ann) }]))).to.not.equal("nothing");
  });

  for (const at of [0, 1, 13, -1]) {
    it(`do not open when the byte at ${at} was changed`, async () => {
      const sealed = Buffer.from(await sealFor(ann));
      sealed[at < 0 ? sealed.length + at : at] = (sealed.at(at) as number) ^ 1;
      expect(await failure(seals.open([{ entity: ann, sealed }]))).to.not.equal("nothing");
    });
  }

  it("are opened with keys that were asked for before, and fail when these could not be read", async () => {
    const sealed = await sealFor(ann);
    let reads = 0;
    let failure: Error | undefined = new Error("The ledger is away");
    const keys: Parameters<typeof batchSealing>[0] = {
      async read(ids) {
        reads += 1;
        if (failure !== undefined) throw failure;
        return stores.entityKeys.read(ids);
      },
    };
    const failing = batchSealing(keys);
    failing.expect([ann]);
    const open = failing.open([{ entity: ann, sealed }]);
    expect(await open.catch((error: unknown) => error)).to.equal(failure);
    failure = undefined;
    const early = batchSealing(keys);
    early.expect([ann]);
    early.expect([bob]);
    expect(reads).to.equal(3);
    expect(Buffer.from((await early.open([{ entity: ann, sealed }]))[0] ?? []).toString()).to.equal("ann@example.org");
    expect(reads).to.equal(3);
  });

  it("cannot be opened once the key is destroyed", async () => {
    const gone = "c".repeat(32);
    await addKeys([gone]);
    const sealed = await sealFor(gone);
    await stores.entityKeys.destroy([gone]);
    expect(await seals.open([{ entity: gone, sealed }])).to.deep.equal([undefined]);
    expect(await failure(sealFor(gone))).to.equal("An entity has no key to seal under");
    expect(await failure(sealFor("d".repeat(32)))).to.equal("An entity has no key to seal under");
  });
});

describe("an entity's document", () => {
  it("comes back from its bytes as it was", () => {
    const version = { time: 1.5, arrival: 2.25, position: 3 };
    const document: EntityDocument = {
      attributes: new Map([
        ["__proto__", { version, value: { __proto__: null, a: [1e21, "\ud800"] } as never }],
        ["removed", { version, value: undefined }],
      ]),
      identities: [{ field: "_uid", value: "\u{1f600}" }],
      streams: ["app", "web"],
      modified: 3.25,
    };
    const decoded = decodeDocument(encodeDocument(document));
    expect([...decoded.attributes.keys()]).to.deep.equal(["__proto__", "removed"]);
    expect(decoded.attributes.get("removed")).to.deep.equal({ version, value: undefined });
    expect(JSON.stringify(decoded.attributes.get("__proto__"))).to.equal(
      JSON.stringify(document.attributes.get("__proto__")),
    );
    expect(decoded.identities).to.deep.equal(document.identities);
    expect([decoded.streams, decoded.modified]).to.deep.equal([["app", "web"], 3.25]);
  });
});
