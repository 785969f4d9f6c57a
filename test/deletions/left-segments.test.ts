import { expect } from "chai";
import { leftSegments } from "../../src/deletions/left-segments.js";
import type { Hook, OutboxRow } from "../../src/entities/outbox.js";
import type { StoredEntity } from "../../src/entities/profile/entity.js";
import { changeOf, freshEntity } from "../support/commits.js";

describe("the segments that a deletion reports as left", () => {
  const crm: Hook = { name: "crm", url: "https://crm.example", token: "t", segments: ["vip"] };
  const ann = changeOf(freshEntity(), [{ add: ["vip", "other"] }]).entity as StoredEntity;
  const about = { hook: "crm", segment: "vip", at: 1, generation: 0, state: "waiting", cancels: true } as const;
  const joined: OutboxRow = { ...about, id: "1", entity: ann.id, change: "joined" };

  for (const [title, rows, expected] of [
    ["has those of the hook that the person is in", [], ["vip"]],
    ["omits one whose joined waits", [joined], []],
    ["has one whose joined was part of a request", [{ ...joined, state: "failed" }], ["vip"]],
    ["has one of which the hook may know another profile", [{ ...joined, cancels: false }], ["vip"]],
    [
      "has one whose joined waits while the hook reads the members after a reset",
      [joined, { ...about, id: "2", entity: "", change: "reset" }],
      ["vip"],
    ],
  ] as [string, OutboxRow[], string[]][]) {
    it(title, () => {
      expect(leftSegments([crm], [{ ...ann, identities: [] } as never], rows)).to.deep.equal({ crm: expected });
    });
  }
});
