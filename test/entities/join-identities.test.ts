import { expect } from "chai";
import { type EntityStage, entityStage } from "../support/entity-stage.js";

type Sent = Readonly<Record<string, string | readonly string[]>>;

/** The identities that profiles have after the messages, each profile once: `field:value`, sorted. */
interface Case {
  readonly what: string;
  readonly messages: readonly Sent[];
  readonly people: readonly string[];
}

const twoUsersOnOneDevice: readonly Sent[] = [
  { user_id: "ann", _uid: "phone" },
  { user_id: "ben", _uid: "phone" },
];

const cases: readonly Case[] = [
  {
    what: "two users of one device stay two",
    messages: twoUsersOnOneDevice,
    people: ["_uid:phone user_id:ann", "user_id:ben"],
  },
  {
    what: "two users with one e-mail stay two",
    messages: [
      { user_id: "ann", email: "home@x.org" },
      { user_id: "ben", email: "home@x.org", _uid: "tablet" },
    ],
    people: ["email:home@x.org user_id:ann", "_uid:tablet user_id:ben"],
  },
  {
    what: "an anonymous device becomes its first user's",
    messages: [{ _uid: "phone" }, ...twoUsersOnOneDevice],
    people: ["_uid:phone user_id:ann", "user_id:ben"],
  },
  {
    what: "two anonymous profiles become one",
    messages: [{ _uid: "phone" }, { email: "ann@x.org" }, { _uid: "phone", email: "ann@x.org" }],
    people: ["_uid:phone email:ann@x.org"],
  },
  {
    what: "a message without a protected value goes to the owner of its strongest identity",
    messages: [
      { user_id: "ann", _uid: "phone" },
      { user_id: "ben", email: "ben@x.org" },
      { _uid: ["phone", "laptop"], email: "ben@x.org" },
    ],
    people: ["_uid:phone user_id:ann", "_uid:laptop email:ben@x.org user_id:ben"],
  },
  {
    what: "an array of two new values of a protected field is one person",
    messages: [{ user_id: ["ann", "ann.old"], _uid: "phone" }],
    people: ["_uid:phone user_id:ann user_id:ann.old"],
  },
  {
    what: "an array of values of a protected field unites their profiles, and all that they own",
    messages: [...twoUsersOnOneDevice, { user_id: ["ben", "ann"], _uid: "phone" }],
    people: ["_uid:phone user_id:ann user_id:ben"],
  },
  {
    what: "an array of values of a protected field does not unite a third user whom it does not name",
    messages: [...twoUsersOnOneDevice, { user_id: ["ben", "cleo"], _uid: "phone" }],
    people: ["_uid:phone user_id:ann", "user_id:ben user_id:cleo"],
  },
  {
    what: "a user with several devices takes an anonymous one along",
    messages: [{ _uid: "tv" }, { user_id: "ann", _uid: "phone" }, { user_id: "ann", _uid: ["phone", "tv"] }],
    people: ["_uid:phone _uid:tv user_id:ann"],
  },
];

describe("messages", () => {
  let stage: EntityStage;
  let serial = 0;

  before(async () => {
    stage = await entityStage();
  });
  after(() => stage.close());

  for (const { what, messages, people } of cases) {
    for (const atOnce of new Set([messages.length, 1])) {
      it(`join people so that ${what}, ${atOnce === 1 ? "one by one" : "in one batch"}`, async () => {
        serial += 1;
        const own = (value: string) => `${serial}${value}`;
        const sent = messages.map((message) => mapped(message, own));
        for (let i = 0; i < sent.length; i += atOnce) await stage.collect(sent.slice(i, i + atOnce));
        const found = new Set<string>();
        for (const [field, value] of messages.flatMap((message) => Object.entries(message))) {
          for (const one of [value].flat()) found.add(identitiesIn(await stage.read(field, own(one)), String(serial)));
        }
        expect([...found].sort()).to.deep.equal([...people].sort());
      });
    }
  }

  it("count once for an id that several messages have: the first message that is not refused", async () => {
    const ids = ["a".repeat(32), "b".repeat(32), "a".repeat(32)];
    const big = { x: "x".repeat(1_100_000) };
    await stage.collect([{ _uid: "first" }, { _uid: "first", n: 1 }, { _uid: "first", n: 2 }], { ids });
    expect(await stage.read("_uid", "first")).to.have.property("n", 1);
    const [c, d] = ["c".repeat(32), "d".repeat(32)];
    const messages = [
      { _uid: "second", ...big },
      { _uid: "second", n: 1 },
      { _uid: "second", n: 2, ...big },
    ];
    const codes = await stage.collect(messages, { ids: [c, c, d] });
    expect(codes).to.deep.equal(["entity_too_large", "entity_too_large"]);
    expect(await stage.read("_uid", "second")).to.have.property("n", 1);
  });
});

function mapped(message: Sent, own: (value: string) => string): Sent {
  return Object.fromEntries(
    Object.entries(message).map(([field, value]) => [field, typeof value === "string" ? own(value) : value.map(own)]),
  );
}

function identitiesIn(profile: Readonly<Record<string, unknown>> | undefined, prefix: string): string {
  const pairs = ["_uid", "email", "user_id"].flatMap((field) =>
    [profile?.[field] ?? []].flat().map((value) => `${field}:${String(value).slice(prefix.length)}`),
  );
  return pairs.sort().join(" ");
}
