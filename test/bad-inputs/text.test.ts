import { expect } from "chai";
import { serviceOfSuite } from "../support/service.js";

/** Pairs of spellings of one identity: the stored one and the requested one. */
const spellings: [string, string, string, unknown, string[]][] = [
  ["NFC and NFD", "user_id", "é-nfc", "\u00e9-nfc", ["\u00e9-nfc", "e\u0301-nfc"]],
  ["NFD written", "user_id", "é-nfd", "e\u0301-nfd", ["\u00e9-nfd", "e\u0301-nfd"]],
  ["the case of an e-mail", "email", "Ann@Example.COM", "Ann@Example.COM", ["ann@example.com", "ANN@EXAMPLE.COM"]],
  ["a trailing blank", "user_id", "blank ", "blank ", ["blank", "blank ", " blank"]],
  [
    "blanks around an e-mail",
    "email",
    " bob@example.com",
    " Bob@example.com ",
    ["bob@example.com", " bob@example.com "],
  ],
  ["a number", "user_id", "42", 42, ["42"]],
];

describe("an identity that is written in equivalent forms", () => {
  const service = serviceOfSuite();

  const read = async (field: string, value: string) =>
    (await service.fetch(`/api/entity/user/${field}/${encodeURIComponent(value)}`)).status;

  for (const [name, field, , written, found] of spellings) {
    it(`names one entity at write, read and delete: ${name}`, async () => {
      const collected = await service.fetch("/collect/json/web", { method: "POST", json: { [field]: written, a: 1 } });
      expect(collected.status).to.equal(200);
      for (const value of found) expect(await read(field, value), value).to.equal(200);
      const [first = "", ...others] = found;
      const path = `/api/entity/user/${field}/${encodeURIComponent(others.at(-1) ?? first)}`;
      expect((await service.fetch(path, { method: "DELETE" })).status).to.equal(200);
      for (const value of found) expect(await read(field, value), value).to.equal(404);
    });
  }
});
