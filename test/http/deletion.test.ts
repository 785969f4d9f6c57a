import { expect } from "chai";
import { deleteEntity, deletionStatus } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

describe("the deletion routes", () => {
  const service = serviceOfSuite();

  const remove = (path: string) => deleteEntity(service, path);
  const status = (id: string) => deletionStatus(service, id);

  it("accept a DELETE and answer its request id", async () => {
    const { response, body } = await remove("user/email/ann@example.org");
    expect(response.status).to.equal(200);
    expect(response.headers.get("cache-control")).to.equal("no-store");
    expect(body.data.request_id).to.match(/^[0-9a-f]{20}-[0-9]+$/);
    expect(body).to.deep.equal({
      status: 200,
      message: "Delete request received",
      data: { request_id: body.data.request_id, completed: false },
    });
  });

  const unknown = [
    "0123456789abcdef0123-1700000000",
    "0123456789ABCDEF0123-1700000000",
    "nobody",
    "0",
    "x".repeat(3000),
    "%27%20OR%201=1--",
    "..%2Fdeletestatus",
  ];
  for (const id of unknown) {
    it(`answer 404 for the status of ${id.slice(0, 40)}`, async () => {
      const { response } = await status(id);
      expect(response.status).to.equal(404);
      expect(response.headers.get("cache-control")).to.equal("no-store");
      expect(response.headers.get("content-type")).to.match(/^application\/json/);
    });
  }

  const refused: [string, number][] = [
    ["nobody/email/ann@example.org", 404],
    ["deletestatus/email/ann@example.org", 404],
    ["segments/email/ann@example.org", 404],
    ["user/name/ann", 400],
    ["user/EMAIL/ann@example.org", 400],
    ["user/__proto__/ann", 400],
    ["user/email.%24ne/ann", 400],
    ["user/email/%20", 400],
    ["user/email/Anonymous", 400],
    ["user/email/%00", 400],
    ["user/email/%zz", 400],
    ["user/email/", 404],
    ["user//ann", 404],
    [`user/email/${"x".repeat(1025)}`, 400],
  ];
  for (const [path, expected] of refused) {
    it(`answer ${expected} for a DELETE of ${path.slice(0, 40)}, and keep nothing`, async () => {
      const before = await service.service.stores.ledger.since(0, 1000);
      const response = await service.fetch(`/api/entity/${path}`, { method: "DELETE" });
      expect(response.status).to.equal(expected);
      expect(response.headers.get("cache-control")).to.equal("no-store");
      expect(response.headers.get("content-type")).to.match(/^application\/json/);
      expect(await service.service.stores.ledger.since(0, 1000)).to.have.length(before.length);
    });
  }
});

describe("the list of deletions", () => {
  const service = serviceOfSuite();

  it("is refused for a query that is not valid", async () => {
    for (const query of [
      "completed=false",
      "limit=0",
      "limit=1001",
      "after=x",
      "state=",
      "state=OPEN",
      "state=open&state=open",
    ])
      expect((await service.fetch(`/api/deletion?${query}`)).status, query).to.equal(400);
  });
});
