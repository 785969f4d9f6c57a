import { expect } from "chai";
import { tablesOf } from "../../src/entities/profile/entity-tables.js";
import { folderOfSuite } from "../support/files.js";
import { startService } from "../support/service.js";

describe("GET /api/table", () => {
  const { file } = folderOfSuite();

  it("returns the configured tables in full, so that a client checks identities as the service does", async () => {
    const configured = [
      { name: "user", identities: ["_uid", "user_id", { name: "mail", normal_form: "email" }], nobody: ["Test"] },
      { name: "country", identities: ["code"], protected: ["code"], common_nobody: false, max_values: 1 },
    ];
    const service = await startService({ tables_file: file("tables.json", JSON.stringify(configured)) });
    const { data } = (await (await service.fetch("/api/table")).json()) as { data: object[] };
    expect(data[0]).to.deep.equal({
      name: "user",
      identities: [
        { name: "_uid", normal_form: "text" },
        { name: "user_id", normal_form: "text" },
        { name: "mail", normal_form: "email" },
      ],
      default_identity: "_uid",
      strongest_first: ["user_id", "_uid", "mail"],
      protected: ["user_id"],
      max_values: 100,
      nobody: ["Test"],
      common_nobody: true,
    });
    const comparable = (json: unknown) =>
      [...tablesOf(json).values()].map(({ isNobody, ...table }) => ({ ...table, refused: isNobody("null") }));
    expect(comparable(data)).to.deep.equal(comparable(configured));
  });
});
