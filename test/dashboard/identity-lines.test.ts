import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { identitiesOf, readingOf } from "../../src/dashboard/views/identity-lines.js";

const tables = [
  {
    name: "user",
    identities: [
      { name: "_uid", normal_form: "text" as const },
      { name: "email", normal_form: "email" as const },
    ],
    default_identity: "_uid",
    strongest_first: ["email", "_uid"],
    protected: [],
    max_values: 100,
    nobody: [],
    common_nobody: true,
  },
];

const fileOf = (name: string, content: string | Buffer) => new File([content as string], name);

describe("a file for Delete many", () => {
  const chosen = (field = "") => ({ table: "user", field });

  it("shows how it was read, what is sent, and which lines are not, with their reasons", async () => {
    const file = fileOf("people.csv", "\ufeff\nName;EMAIL;_uid\r\nAnn;ann@x;1\r\nBen;ben;2\r\nEve;;3\r\n\r\n;\\N;\r\n");
    const read = await identitiesOf(file, chosen(), tables);
    expect(readingOf(read)).to.deep.equal([
      ["Named by", "email, else _uid, from the file's header"],
      ["Identities", "2 of 4 lines; the first is line 3"],
    ]);
    expect(read.items).to.deep.equal([
      { line: 3, table: "user", field: "email", value: "ann@x" },
      { line: 5, table: "user", field: "_uid", value: "3" },
    ]);
    expect(read.refused.map(({ line }) => line)).to.deep.equal([4, 7]);
    for (const { reason } of read.refused) expect(reason).to.match(/email/).and.not.match(/ben/);
  });

  it("tells the field that its values probably have if nothing names one, and is read by a chosen field", async () => {
    const mails = fileOf("people.txt", "ann@x\nben@x\n");
    const unnamed = await identitiesOf(mails, chosen(), tables);
    expect([unnamed.likelyField, unnamed.items]).to.deep.equal(["email", []]);
    expect((await identitiesOf(fileOf("people.txt", "u-1\n"), chosen(), tables)).likelyField).to.equal("_uid");
    const named = await identitiesOf(mails, chosen("email"), tables);
    expect([named.likelyField, named.refused]).to.deep.equal([undefined, []]);
    expect(readingOf(named)).to.deep.equal([
      ["Named by", "email, one value per line"],
      ["Identities", "2 of 2 lines; the first is line 1"],
    ]);
  });

  it("is inflated if it is gzip, and refused without a part of it in the error if that is damaged", async () => {
    const content = gzipSync("email\nann@x\nben\n");
    const { items, refused } = await identitiesOf(fileOf("people.csv.gz", content), chosen(), tables);
    expect(items).to.deep.equal([{ line: 2, table: "user", field: "email", value: "ann@x" }]);
    expect(refused.map(({ line }) => line)).to.deep.equal([3]);
    const values = await identitiesOf(fileOf("people.txt.gz", gzipSync("ann@x\n")), chosen(), tables);
    expect(values.likelyField).to.equal("email");
    const error = await identitiesOf(fileOf("people.csv.gz", content.subarray(0, -9)), chosen(), tables).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).to.have.property("message", "people.csv.gz cannot be read (not complete, valid gzip)");
  });

  it("has no identities if it is empty or every line is refused", async () => {
    expect(readingOf(await identitiesOf(fileOf("people.txt", "\n"), chosen("email"), tables))).to.deep.equal([
      ["Named by", "nothing"],
      ["Identities", "0 of 0 lines"],
    ]);
    const refused = await identitiesOf(fileOf("people.csv", "Kunde;Ort\nAnn;Bonn\n"), chosen("_uid"), tables);
    expect([refused.items, refused.refused.map(({ line }) => line)]).to.deep.equal([[], [1, 2]]);
  });
});
