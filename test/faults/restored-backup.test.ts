import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ERASED } from "../../src/deletions/ports.js";
import { dataFolder } from "../support/data-folder.js";
import { holdersOf } from "../support/holders.js";
import { startReal } from "../support/real-service.js";
import { collectThrough, isCompleteIn, removeThrough, statusOfProfile } from "../support/requests.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";

describe("P25: a restored backup", function () {
  this.timeout(60_000);

  it("has no readable erased profile from the first moment, and erases all of them before the port opens", async () => {
    const dir = dataFolder();
    let service = await startReal(dir);
    for (let index = 0; index < 20; index += 1) await collectThrough(service, [personOf(index)]);
    // Two who are joined after the backup, and then erased as one.
    await collectThrough(service, [{ email: "left@example.org" }]);
    await collectThrough(service, [{ user_id: "right" }]);
    await service.stop();
    for (const name of ["entities.db", "entities.db-wal"]) keep(dir, name);

    service = await startReal(dir);
    await collectThrough(service, [{ email: "left@example.org", user_id: "right" }]);
    const erased = [...Array.from({ length: 10 }, (_, index) => `email/p${index}@example.org`), "user_id/right"];
    const ids: string[] = [];
    for (const path of erased) ids.push(await removeThrough(service, path));
    for (const id of ids) await until("it is complete", () => isCompleteIn(service, id), 30_000);
    await service.kill();
    for (const name of ["entities.db", "entities.db-wal", "entities.db-shm"]) restore(dir, name);

    // The stores at the moment the port opens.
    const opened = await startService({}, { dir: dir });
    const { stores } = opened.service;
    const deletions = await stores.ledger.since(0, 1000);
    const entities = deletions.flatMap(({ deletion }) => deletion.entities);
    expect(await holdersOf(stores, entities)).to.deep.equal([]);
    expect(await stores.facts.number(ERASED)).to.equal(deletions.at(-1)?.sequence);
    await opened.stop({ keep: true });

    service = await startReal(dir);
    for (const path of [...erased, "email/left@example.org"])
      expect(await statusOfProfile(service, path), path).to.equal(404);
    for (let index = 10; index < 20; index += 1) {
      expect(await statusOfProfile(service, `email/p${index}@example.org`)).to.equal(200);
    }
    for (const id of ids) expect(await isCompleteIn(service, id)).to.equal(true);
  });
});

function personOf(index: number): object {
  return { email: `p${index}@example.org`, user_id: `id-${index}`, plan: "gold", segments: ["buyers"] };
}

function keep(dir: string, name: string): void {
  if (existsSync(join(dir, name))) copyFileSync(join(dir, name), join(dir, `yesterday-${name}`));
}

function restore(dir: string, name: string): void {
  rmSync(join(dir, name), { force: true });
  if (existsSync(join(dir, `yesterday-${name}`))) copyFileSync(join(dir, `yesterday-${name}`), join(dir, name));
}
