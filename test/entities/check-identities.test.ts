import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { Log } from "../../src/log.js";
import { DatabaseSync } from "../../src/stores/sqlite/connection.js";
import { dataFolder } from "../support/data-folder.js";
import { collectThrough, deleteEntity } from "../support/requests.js";
import { startService } from "../support/service.js";

describe("the check of stored identities", () => {
  it("counts profiles with refused identities alone, of any number, without damaged and deleted ones, and only once", async () => {
    const dir = dataFolder();
    const tablesFile = join(dir, "tables.json");
    const email = { name: "email", normal_form: "text" };
    writeFileSync(tablesFile, JSON.stringify([{ name: "user", identities: ["_uid", "user_id", email] }]));
    const accepting = await startService({ tables_file: tablesFile, roles: ["api"] }, { dir });
    const messages = [
      ...Array.from({ length: 2_500 }, (_, at) => ({ email: `no address ${at}` })),
      { email: ["no address either", "ann@example.com"] },
      { email: "no address of ben", _uid: "ben" },
      { email: "no address of the longest", note: "x".repeat(1_000) },
    ];
    await collectThrough(accepting, messages);
    await deleteEntity(accepting, "user/email/no%20address%201");
    await accepting.stop({ keep: true });
    edit(dir, "DELETE FROM fact WHERE name LIKE 'identities checked%'");
    edit(dir, "UPDATE entity SET sealed = x'01' WHERE length(sealed) > 1000");

    const logged: [fields: object, message: string][] = [];
    const note = (...line: [object, string]) => logged.push(line);
    const log = { debug: () => {}, info: note, warn: note, error: note } as unknown as Log;
    for (let starts = 0; starts < 2; starts += 1) {
      const service = await startService({ roles: ["api"] }, { dir, log });
      await service.stop({ keep: true });
    }
    expect(logged.map(([fields]) => fields)).to.deep.include.members([{ profiles: 1 }, { profiles: { user: 2_499 } }]);
    expect(logged.filter(([, message]) => message.includes("identities"))).to.have.length(2);
    expect(JSON.stringify(logged)).to.not.contain("no address");
  });
});

function edit(dir: string, sql: string): void {
  const db = new DatabaseSync(join(dir, "entities.db"));
  db.exec(sql);
  db.close();
}
