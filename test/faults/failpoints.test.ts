import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { type RealService, startReal } from "../support/real-service.js";
import {
  collectThrough,
  isCompleteIn,
  removeThrough,
  removeUnlessKilled,
  statusOfProfile,
} from "../support/requests.js";
import { root } from "../support/source-tree.js";
import { until } from "../support/until.js";

/** Failpoints of deletions, as docs/promises.md lists them. */
const FAILPOINTS = [
  ...readFileSync(join(root, "docs/promises.md"), "utf8").matchAll(
    /^\| `((?:deletion|profile|target|all-targets|keys)-[a-z-]+)` \|/gm,
  ),
].map(([, name = ""]) => name);

/** Profiles that are deleted when the process dies, and the identity of the DELETE. */
const people: { who: string; messages: object[]; path: string; others: string[] }[] = [
  {
    who: "a profile with one identity",
    messages: [{ email: "ann@example.org", plan: "gold", segments: ["buyers"] }],
    path: "email/ann@example.org",
    others: [],
  },
  {
    who: "a profile that was merged from two",
    messages: [
      { email: "ann@example.org", plan: "gold", segments: ["buyers"] },
      { user_id: "ann-1", city: "Bern", segments: ["readers"] },
      { email: "ann@example.org", user_id: "ann-1", _uid: "c-1" },
    ],
    path: "user_id/ann-1",
    others: ["email/ann@example.org", "_uid/c-1"],
  },
  { who: "no profile", messages: [], path: "email/ann@example.org", others: [] },
];

describe("P1, P4: a deletion survives the death of the process", function () {
  this.timeout(180_000);

  it("is tested at 14 failpoints", () => expect(FAILPOINTS).to.have.length(14));

  for (const failpoint of FAILPOINTS) {
    it(`at ${failpoint}, completes if it was acknowledged, and never loses or reverts its status`, async () => {
      await Promise.all(people.map((person) => dieAndRecover(failpoint, person)));
    });
  }
});

async function dieAndRecover(failpoint: string, person: (typeof people)[number]): Promise<void> {
  const dir = dataFolder();
  let child = await startReal(dir, { FAILPOINT: failpoint });
  for (const message of person.messages) await collectThrough(child, [message]);
  const acknowledged = await removeUnlessKilled(child, person.path);
  expect(await child.gone, `${failpoint} was reached`).to.equal("SIGKILL");

  child = await startReal(dir);
  for (const path of [person.path, ...person.others]) {
    const status = await statusOfProfile(child, path);
    // One that died before its insert was not acknowledged, and nothing has happened.
    expect(status, path).to.equal(failpoint === "deletion-planned" && person.messages.length > 0 ? 200 : 404);
  }
  if (acknowledged !== undefined) await watchUntilComplete(child, acknowledged);
  await watchUntilComplete(child, await removeThrough(child, person.path));
  expect(await statusOfProfile(child, person.path)).to.equal(404);
}

async function watchUntilComplete(child: RealService, id: string): Promise<void> {
  await until("it is complete", () => isCompleteIn(child, id), 60_000);
  for (let look = 0; look < 20; look += 1) expect(await isCompleteIn(child, id)).to.equal(true);
}
