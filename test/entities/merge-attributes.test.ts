import { expect } from "chai";
import fc from "fast-check";
import { AttributesDraft } from "../../src/entities/profile/attributes.js";
import { type EntityDocument, encodeDocument } from "../../src/entities/profile/entity-document.js";

const version = fc.record({
  time: fc.integer({ min: 1, max: 3 }),
  arrival: fc.integer({ min: 1, max: 2 }),
  position: fc.integer({ min: 0, max: 1 }),
});
const document: fc.Arbitrary<EntityDocument> = fc.record({
  attributes: fc
    .array(
      fc.tuple(
        fc.constantFrom("x", "y", "__proto__"),
        fc.record({ version, value: fc.constantFrom(1, "1", undefined) }),
      ),
    )
    .map((entries) => new Map(entries)),
  identities: fc.uniqueArray(
    fc.record({ field: fc.constantFrom("_uid", "email"), value: fc.constantFrom("a", "b", "c") }),
    { selector: ({ field, value }) => `${field} ${value}` },
  ),
  streams: fc.uniqueArray(fc.constantFrom("web", "app", "Web")),
  facts: fc.constant(new Map()),
  modified: fc.constantFrom(undefined, 1.5, 2),
});

const merged = (documents: readonly EntityDocument[]) =>
  documents.reduce((draft, each) => draft.merge(each), new AttributesDraft()).document();

/** Returns a document with its attributes in a fixed order. */
function shown({ attributes, ...rest }: EntityDocument): string {
  return JSON.stringify([[...attributes].sort(([a], [b]) => (a < b ? -1 : 1)), rest]);
}

describe("a merge of documents", () => {
  it("has the same result in every order and grouping, also if a document is merged twice", () => {
    fc.assert(
      fc.property(fc.array(document, { minLength: 1, maxLength: 5 }), fc.nat(), (documents, cut) => {
        const all = merged(documents);
        const at = cut % documents.length;
        expect(shown(merged([...documents].reverse()))).to.equal(shown(all));
        expect(shown(merged([...documents, ...documents, all]))).to.equal(shown(all));
        const grouped = merged([merged(documents.slice(at)), merged(documents.slice(0, at))]);
        expect(shown(grouped)).to.equal(shown(all));
      }),
    );
  });

  it("returns its size in bytes, and the size with another document", () => {
    fc.assert(
      fc.property(fc.array(document, { minLength: 1, maxLength: 5 }), (documents) => {
        const draft = new AttributesDraft();
        for (const each of documents) {
          const expected = draft.bytesWith({ ...each, identities: [] }, 1000);
          expect(draft.merge({ ...each, identities: [] }).bytes).to.equal(expected);
        }
        for (const each of documents) draft.merge(each);
        expect(draft.bytes).to.be.closeTo(encodeDocument(draft.document()).length, 100);
      }),
    );
  });
});
