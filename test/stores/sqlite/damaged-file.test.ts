import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { StartError } from "../../../src/errors.js";
import { dataFolder } from "../../support/data-folder.js";
import { filledFolder } from "../../support/filled-folder.js";
import { startService } from "../../support/service.js";

const PAGE = 4_096;

describe("a damaged file of the embedded engine", function () {
  this.timeout(120_000);
  let whole: string;
  let pepper: string;

  before(async () => {
    ({ dir: whole, pepper } = await filledFolder());
  });

  /** The message of a start over the folder with this change of one file; empty if it succeeds. */
  async function startError(name: string, change: (bytes: Buffer) => Buffer): Promise<string> {
    const dir = dataFolder();
    cpSync(whole, dir, { recursive: true });
    writeFileSync(join(dir, name), change(readFileSync(join(dir, name))));
    try {
      await (await startService({ pepper, roles: ["api"] }, { dir })).stop();
      return "";
    } catch (error) {
      expect(error, `${error}`).to.be.instanceOf(StartError);
      return (error as Error).message;
    } finally {
    }
  }

  for (const name of ["ledger.db", "entities.db"]) {
    it(`is reported as damaged after any page of ${name} was overwritten, never as older than another file`, async () => {
      const pages = readFileSync(join(whole, name)).length / PAGE;
      let reported = 0;
      for (let page = 1; page < pages; page += 1) {
        const message = await startError(name, (bytes) => bytes.fill(0x0a, page * PAGE, (page + 1) * PAGE));
        if (message !== "") reported += 1;
        expect(message, `page ${page}`).to.match(new RegExp(`^$|/${name} is damaged`));
      }
      expect(reported).to.be.above(5);
    });

    it(`is reported as damaged when ${name} is truncated`, async () => {
      for (const share of [0.3, 0.6, 0.9])
        expect(
          await startError(name, (bytes) => bytes.subarray(0, Math.floor((share * bytes.length) / PAGE) * PAGE)),
        ).to.match(new RegExp(`/${name} is damaged`));
    });
  }
});
