import { expect } from "chai";
import { ruleSentence } from "../../src/dashboard/rules/rule-words.js";
import type { Rule } from "../../src/segments/rule.js";

const names = new Map([["staff", "Staff"]]);

const sentences: readonly (readonly [Rule, string])[] = [
  [{ attribute: "plan", is: ["pro", "team"] }, "plan is pro or team"],
  [{ attribute: ["company", "country"], is: "de", ignore_case: true }, "company › country is de in any case"],
  [{ attribute: "seats", at_least: 5, below: 10 }, "seats is at least 5 and is below 10"],
  [{ attribute: "email", ends_with: "@acme.com" }, "email ends with @acme.com"],
  [
    { attribute: "trial_ends_at", after: "now", before: "now+7d" },
    "trial_ends_at is after now and is before 7 days from now",
  ],
  [{ attribute: "renewed_at", before: "2026-01-31" }, "renewed_at is before 2026-01-31"],
  [{ attribute: "email" }, "has email"],
  [{ not: { attribute: "email" } }, "has no email"],
  [{ stream: "web" }, "seen in web"],
  [{ stream: ["web", "mobile"], last: { after: "now-1h" } }, "seen in web or mobile within 1 hour"],
  [{ stream: "web", last: { before: "now-30d" } }, "last seen in web more than 30 days ago"],
  [{ stream: "web", first: { after: "2026-01-31" } }, "first seen in web after 2026-01-31"],
  [{ stream: "purchase", count: { at_least: 3, within: "90d" } }, "purchase at least 3 times within 90 days"],
  [
    { stream: "purchase", count: { above: 1 }, last: { after: "now-2w" } },
    "purchase above 1 time and seen in purchase within 2 weeks",
  ],
  [{ profile: "seen_at", after: "now-30d" }, "seen within 30 days"],
  [{ profile: "seen_at", before: "now-30d" }, "last seen more than 30 days ago"],
  [{ profile: "created_at", after: "now-1d" }, "created within 1 day"],
  [{ segment: "staff" }, "in Staff"],
  [{ segment: "other" }, "in other"],
  [
    {
      all: [
        { attribute: "plan", is: ["pro", "team"] },
        { profile: "seen_at", after: "now-30d" },
        { not: { segment: "staff" } },
      ],
    },
    "plan is pro or team, and seen within 30 days, and not in Staff",
  ],
  [
    { any: [{ segment: "staff" }, { not: { all: [{ stream: "web" }, { stream: "mobile" }] } }] },
    "in Staff, or not (seen in web, and seen in mobile)",
  ],
  [{ all: [{ any: [{ stream: "web" }] }] }, "seen in web"],
];

describe("a rule as a sentence", () => {
  for (const [rule, sentence] of sentences) {
    it(`reads as “${sentence}”`, () => {
      expect(ruleSentence(rule, names)).to.equal(sentence);
    });
  }
});
