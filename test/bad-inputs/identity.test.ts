import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { collectThrough } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

describe("an invalid identity", () => {
  const service = serviceOfSuite();
  before(() => collectThrough(service, [{ user_id: "kept@example.com", email: "kept@example.com", segments: ["s"] }]));
  afterEach(async () => {
    await expectAlive(service);
    expect((await service.fetch("/api/entity/user/email/kept@example.com")).status).to.equal(200);
  });

  for (const field of ["__proto__", "$where", "email.$ne", "email[]", "_id", "EMAIL", "email ", "name", "' OR 1=1--"]) {
    it(`with the field ${field} is refused with 400, and no data changes`, async () => {
      const at = encodeURIComponent(field);
      const { ledger } = service.service.stores;
      const accepted = await ledger.count("all");
      await refused(service, `/api/entity/user/${at}/${canary}`, {}, 400);
      await refused(service, `/api/me/${at}/kept@example.com`, {}, 400);
      await refused(service, `/api/entity/user/${at}/kept@example.com`, { method: "DELETE" }, 400);
      expect(await ledger.count("all")).to.equal(accepted);
    });
  }

  const values = [
    '{"$ne":null}',
    '{"$gt":""}',
    "/.*/",
    ".*",
    "*",
    "%",
    "' OR 1=1--",
    '" OR ""="',
    "kept@example.com'--",
    "$where",
    "$".concat("{env}"),
    "{{7*7}}",
    "../../etc/passwd",
    "<script>",
    "kept@example.com,other",
  ];
  for (const value of values) {
    it(`does not include the value ${value}, which is plain text`, async () => {
      const at = encodeURIComponent(value);
      await refused(service, `/api/entity/user/user_id/${at}`, {}, 404);
      await refused(service, `/api/entity/user/${at}`, {}, 404);
      const deletion = await service.fetch(`/api/entity/user/user_id/${at}`, { method: "DELETE" });
      expect(deletion.status).to.equal(200);
    });
  }

  for (const value of ["anonymous", " null ", " ", "%20"]) {
    it(`with the placeholder value ${JSON.stringify(value)} is refused`, async () => {
      const at = value === "%20" ? value : encodeURIComponent(value);
      await refused(service, `/api/entity/user/user_id/${at}`, {}, 400);
      await refused(service, `/api/entity/user/user_id/${at}`, { method: "DELETE" }, 400);
    });
  }
});
