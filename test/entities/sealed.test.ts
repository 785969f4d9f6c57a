import { expect } from "chai";
import { newKeys, seal, unseal } from "../../src/entities/profile/encryption.js";
import { decodeDocument, type EntityDocument, encodeDocument } from "../../src/entities/profile/entity-document.js";
import { noFacts } from "../../src/segments/stream-facts.js";
import type { Stores } from "../../src/stores/stores.js";
import { commitOf } from "../support/commits.js";
import { temporaryStores } from "../support/stores.js";

const [ann, bob] = ["a".repeat(32), "b".repeat(32)] as const;
const plain = Buffer.from("ann@example.org");

describe("encrypted bytes", () => {
  const keys = newKeys([ann, bob]);
  let stores: Stores;

  before(async () => {
    stores = await temporaryStores();
    await stores.entities.commit(commitOf([], { keys }));
  });
  after(() => stores.close());

  const unsealWith = async (entity: string, sealed: Uint8Array) =>
    unseal(await stores.entityKeys.read([entity]), { entity, sealed });
  const sealForAnn = () => seal(keys, [{ entity: ann, plain }])[0] as Uint8Array;
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => "nothing",
      (error: Error) => error.message,
    );

  it("are decrypted to the same bytes", async () => {
    const sealed = seal(keys, [
      { entity: ann, plain },
      { entity: bob, plain: Buffer.alloc(0) },
    ]);
    const unsealed = await Promise.all(
      sealed.map((bytes, i) => unsealWith([ann, bob][i] as string, new Uint8Array(bytes))),
    );
    expect(unsealed.map((bytes) => Buffer.from(bytes as Uint8Array).toString())).to.deep.equal(["ann@example.org", ""]);
  });

  it("contain nothing readable, and differ each time", () => {
    const [once, twice] = [sealForAnn(), sealForAnn()];
    expect(Buffer.from(once).includes("ann")).to.equal(false);
    expect(Buffer.from(once).equals(twice)).to.equal(false);
  });

  it("cannot be decrypted for another entity", async () => {
    expect(await failure(unsealWith(bob, sealForAnn()))).to.not.equal("nothing");
  });

  for (const at of [0, 1, 13, -1]) {
    it(`cannot be decrypted if the byte at ${at} was changed`, async () => {
      const sealed = Buffer.from(sealForAnn());
      sealed[at < 0 ? sealed.length + at : at] = (sealed.at(at) as number) ^ 1;
      expect(await failure(unsealWith(ann, sealed))).to.not.equal("nothing");
    });
  }

  it("can be neither decrypted after the key is destroyed, nor created without a key", async () => {
    const gone = "c".repeat(32);
    const own = newKeys([gone]);
    await stores.entities.commit(commitOf([], { keys: own }));
    const [sealed] = seal(own, [{ entity: gone, plain }]);
    await stores.entityKeys.destroy([gone]);
    expect(await unsealWith(gone, sealed as Uint8Array)).to.equal(undefined);
    expect(() => seal(keys, [{ entity: gone, plain }])).to.throw("An entity has no key to seal under");
  });
});

describe("the document of an entity", () => {
  it("is decoded as it was encoded", () => {
    const version = { time: 1.5, arrival: 2.25, position: 3 };
    const document: EntityDocument = {
      attributes: new Map([
        ["__proto__", { version, value: { __proto__: null, a: [1e21, "\ud800"] } as never }],
        [',"identities":[]', { version, value: { a: { x: 1 }, identities: ',"identities":' } }],
        ["removed", { version, value: undefined }],
      ]),
      identities: [
        { field: "_uid", value: "\u{1f600}" },
        { field: "name", value: '","identities":[' },
      ],
      streams: ["app", "web"],
      facts: new Map([
        ["app", noFacts],
        ["web", { count: 2, first: 5, newest: [7, 5] }],
      ]),
      modified: 3.25,
    };
    const decoded = decodeDocument(encodeDocument(document));
    expect([...decoded.attributes.keys()]).to.deep.equal([...document.attributes.keys()]);
    expect(decoded.attributes.get("removed")).to.deep.equal({ version, value: undefined });
    expect(JSON.stringify(decoded.attributes.get("__proto__"))).to.equal(
      JSON.stringify(document.attributes.get("__proto__")),
    );
    expect(decoded.identities).to.deep.equal(document.identities);
    expect([decoded.streams, decoded.modified]).to.deep.equal([["app", "web"], 3.25]);
  });
});
