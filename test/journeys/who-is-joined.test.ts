import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { deleteEntity, isCompleteIn } from "../support/requests.js";
import { storesOnServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const MINUTE_MS = 60_000;
const LINES = { "content-type": "application/x-ndjson" };

/** Tables besides the shipped ones. */
const ownTables = [
  {
    name: "guest",
    identities: ["phone", "email", "member", "card"],
    protected: ["member", "card"],
    strongest_first: ["card", "email", "member", "phone"],
  },
  { name: "protected_first", identities: ["phone", "email", "member", "card"], protected: ["member", "card"] },
  { name: "as_listed", identities: ["phone", "user_id", "email"] },
  { name: "open", identities: ["user_id", "email"], protected: [] },
  { name: "none_to_protect", identities: ["phone", "email"] },
];

/** Identities as `field:value`, several with a blank between them. */
type Words = string;

interface Exported {
  readonly identities: Record<string, string[]>;
  readonly attributes: Record<string, { value: unknown }>;
  readonly bodies: readonly object[];
}

describe("people who share a device or an address", () => {
  const dir = dataFolder();
  let service: TestService;
  /** Another process on servers; embedded the same. */
  let other: TestService;
  let crm: RemoteSystem;
  let serial = 0;
  let segment = "";

  before(async () => {
    crm = await remoteSystem();
    const shipped = JSON.parse(readFileSync(new URL("../../config/tables.json", import.meta.url), "utf8"));
    const tables_file = join(dir, "tables.json");
    writeFileSync(tables_file, JSON.stringify([...shipped, ...ownTables]));
    const settings = { tables_file, deletions: { targets: [{ name: "crm", url: crm.url, token: "secret" }] } };
    service = await startService(settings, { dir });
    other = storesOnServers ? await startService(settings, { dir }) : service;
  });
  after(async () => {
    if (other !== service) await other.stop({ keep: true });
    await service.stop();
    await crm.close();
  });
  beforeEach(() => {
    serial += 1;
    segment = `segment-${serial}`;
  });

  /** A value of this test alone. */
  const own = (value: string) => (value.includes("@") ? value.replace("@", `-${serial}@`) : `${value}-${serial}`);
  const identitiesOf = (words: Words) => words.split(" ").map((word) => word.split(":") as [string, string]);

  /** A message with these identities, and `more` attributes. */
  function message(words: Words, more: object = {}): object {
    const fields: Record<string, string | string[]> = {};
    for (const [field, value] of identitiesOf(words)) {
      const before = fields[field];
      fields[field] = before === undefined ? own(value) : [before, own(value)].flat();
    }
    return { ...fields, segments: { add: [segment] }, ...more };
  }

  async function send(messages: readonly object[], query = "", headers: Record<string, string> = {}, to = service) {
    const body = messages.map((one) => JSON.stringify(one)).join("\n");
    const path = `/collect/json/web?timestamp_field=at${query}`;
    const response = await to.fetch(path, { method: "POST", body, headers: { ...LINES, ...headers } });
    expect(response.status, await response.clone().text()).to.equal(200);
    return ((await response.json()) as { data: Record<string, unknown> }).data;
  }

  const pathOf = (word: Words, table = "user") => {
    const [[field, value] = ["", ""]] = identitiesOf(word);
    return `${table}/${field}/${encodeURIComponent(own(value))}`;
  };

  async function read(word: Words, table = "user"): Promise<Record<string, unknown> | undefined> {
    const response = await other.fetch(`/api/entity/${pathOf(word, table)}?segments=false&meta=false`);
    const { data } = (await response.json()) as { data: Record<string, unknown> };
    return response.status === 404 ? undefined : data;
  }

  async function post(path: string, word: Words) {
    const [[field, value] = ["", ""]] = identitiesOf(word);
    return other.fetch(path, { method: "POST", json: { table: "user", field, value: own(value) } });
  }

  async function exported(word: Words): Promise<Exported> {
    const lines = (await (await post("/api/entity/export", word)).text()).trim().split("\n");
    const [profile, ...messages] = lines.map((line) => JSON.parse(line));
    return { ...profile, bodies: messages.slice(0, -1).map(({ body }) => body) };
  }

  async function previewed(word: Words): Promise<object> {
    return ((await (await post("/api/deletion/preview", word)).json()) as { data: object }).data;
  }

  async function members(): Promise<object[]> {
    const response = await service.fetch(`/api/segment/${segment}/members`, { method: "POST" });
    const lines = (await response.text()).trim().split("\n");
    return lines.slice(0, -1).map((line) => (JSON.parse(line) as { identities: object }).identities);
  }

  async function erase(word: Words): Promise<string> {
    const { response, body } = await deleteEntity(service, pathOf(word));
    expect(response.status).to.equal(200);
    const id = body.data.request_id;
    await until("the deletion is completed", () => isCompleteIn(service, id));
    return id;
  }

  describe("of two users who log in on one device,", () => {
    let ben: object;
    beforeEach(async () => {
      ben = message("_uid:tablet user_id:ben", { city: "Rome" });
      await send([message("_uid:tablet user_id:ann", { plan: "gold" })]);
      expect(await send([ben])).to.have.property("left_out", 1);
    });

    it("the first has the device, and the second nothing of the first", async () => {
      const ann = { user_id: own("ann"), _uid: own("tablet"), plan: "gold" };
      for (const word of ["user_id:ann", "_uid:tablet"]) expect(await read(word)).to.deep.equal(ann);
      expect(await read("user_id:ben")).to.deep.equal({ user_id: own("ben"), city: "Rome" });
      const [annIs, benIs] = [{ _uid: [own("tablet")], user_id: [own("ann")] }, { user_id: [own("ben")] }];
      expect(await members()).to.have.deep.members([annIs, benIs]);
      expect(await exported("_uid:tablet")).to.deep.include({ identities: annIs });
      expect(await exported("user_id:ben")).to.deep.include({ identities: benIs, bodies: [ben] });
      const counts = { profiles: 1, messages: { web: 1 }, segments: 1 };
      expect(await previewed("user_id:ben")).to.deep.include({ ...counts, identities: { user_id: 1 } });
      expect(await previewed("_uid:tablet")).to.deep.include({ ...counts, identities: { _uid: 1, user_id: 1 } });
    });

    for (const word of ["user_id:ann", "_uid:tablet"]) {
      it(`the DELETE of the first by ${word} leaves the second with all that is theirs`, async () => {
        const id = await erase(word);
        for (const gone of ["user_id:ann", "_uid:tablet"]) expect(await read(gone)).to.equal(undefined);
        expect(await read("user_id:ben")).to.deep.equal({ user_id: own("ben"), city: "Rome" });
        expect(await exported("user_id:ben")).to.deep.include({ identities: { user_id: [own("ben")] }, bodies: [ben] });
        expect(await members()).to.deep.equal([{ user_id: [own("ben")] }]);
        expect(namedTo(crm, id)).to.deep.equal([`_uid:${own("tablet")}`, `user_id:${own("ann")}`]);
      });
    }

    it("the DELETE of the second leaves the first with the device, and drops none of its messages", async () => {
      const id = await erase("user_id:ben");
      expect(await read("user_id:ben")).to.equal(undefined);
      expect(namedTo(crm, id)).to.deep.equal([`user_id:${own("ben")}`]);
      const late = { late: true, at: Date.now() - MINUTE_MS };
      expect(await send([message("_uid:tablet", late), message("_uid:tablet", { now: 1 })])).to.include({
        message_count: 2,
      });
      const ann = { user_id: own("ann"), _uid: own("tablet"), plan: "gold", ...late, now: 1 };
      expect(await read("_uid:tablet")).to.deep.equal(ann);
    });

    it("the second gets the device when it is free: after the DELETE of the first, with the next message", async () => {
      await erase("user_id:ann");
      expect(await send([message("_uid:tablet user_id:ben", { city: "Oslo" })])).to.not.have.property("left_out");
      expect(await read("_uid:tablet")).to.deep.equal({ user_id: own("ben"), _uid: own("tablet"), city: "Oslo" });
    });

    it("a late event that names the device of any user is dropped up to the DELETE of the first", async () => {
      await erase("user_id:ann");
      const late = message("_uid:tablet user_id:ben", { late: true, at: Date.now() - MINUTE_MS });
      expect(await send([late])).to.deep.equal({ message_count: 1, rejected_count: 0, errors: [] });
      expect(await read("user_id:ben")).to.deep.equal({ user_id: own("ben"), city: "Rome" });
      const alone = message("user_id:ben", { late: true, at: Date.now() - MINUTE_MS });
      await send([alone]);
      expect(await read("user_id:ben")).to.have.property("late", true);
    });

    it("a bulk deletion that names the device erases the first alone", async () => {
      const json = { field: "_uid", value: own("tablet") };
      const response = await service.fetch("/api/deletion", { method: "POST", json });
      const { data } = (await response.json()) as { data: [{ request_id: string }] };
      await until("it is completed", () => isCompleteIn(service, data[0].request_id));
      expect(await read("user_id:ann")).to.equal(undefined);
      expect(await read("user_id:ben")).to.deep.equal({ user_id: own("ben"), city: "Rome" });
    });

    it("a repeat of the second's request under its key stores nothing more and has the same response", async () => {
      const headers = { "idempotency-key": own("key") };
      const again = [message("_uid:tablet user_id:ben", { city: "Bern" })];
      const first = await send(again, "", headers);
      expect(first).to.deep.equal({ message_count: 1, rejected_count: 0, errors: [], left_out: 1 });
      await erase("user_id:ann");
      expect(await send(again, "", headers, other)).to.deep.equal(first);
      expect(await read("_uid:tablet")).to.equal(undefined);
      expect((await exported("user_id:ben")).bodies).to.have.length(2);
    });
  });

  describe("profiles after messages, sent in one request or one by one:", () => {
    const rows: {
      readonly title: string;
      readonly table?: string;
      readonly sent: readonly Words[];
      readonly profiles: readonly Words[];
      readonly leftOut?: number;
      /** The profile of the last message; checked if it is given. */
      readonly lastOf?: Words;
    }[] = [
      {
        title: "a family's e-mail belongs to the user who used it first",
        sent: ["user_id:ann email:family@x.org", "user_id:ben email:Family@X.org"],
        profiles: ["user_id:ann email:family@x.org", "user_id:ben"],
        leftOut: 1,
      },
      {
        title: "the e-mail of another user is left out of a message of a user who exists",
        sent: ["user_id:ann email:a@x.org", "user_id:ben email:b@x.org", "user_id:ann email:b@x.org"],
        profiles: ["user_id:ann email:a@x.org", "user_id:ben email:b@x.org"],
        leftOut: 1,
        lastOf: "email:a@x.org",
      },
      {
        title: "a new user joins the profile of their e-mail that has no user yet",
        sent: ["email:a@x.org _uid:phone", "user_id:ann email:a@x.org"],
        profiles: ["user_id:ann email:a@x.org _uid:phone"],
      },
      {
        title: "a user who exists joins the profile of their e-mail that has no user yet",
        sent: ["email:a@x.org _uid:phone", "user_id:ann _uid:tablet", "user_id:ann email:a@x.org"],
        profiles: ["user_id:ann email:a@x.org _uid:phone _uid:tablet"],
      },
      {
        title: "an anonymous device joins the user who logs in, and no second one",
        sent: ["_uid:phone", "_uid:phone user_id:ann", "_uid:phone user_id:ben", "_uid:phone"],
        profiles: ["user_id:ann _uid:phone", "user_id:ben"],
        leftOut: 1,
        lastOf: "user_id:ann",
      },
      {
        title: "an anonymous device with an e-mail joins the user who logs in with another e-mail",
        sent: ["_uid:phone email:a@x.org", "_uid:phone user_id:ann email:b@x.org"],
        profiles: ["user_id:ann _uid:phone email:a@x.org email:b@x.org"],
      },
      {
        title: "weak identities join two profiles without a user",
        sent: ["_uid:phone", "email:a@x.org", "_uid:phone email:a@x.org"],
        profiles: ["_uid:phone email:a@x.org"],
      },
      {
        title: "several values of a protected field in one message join two users",
        sent: ["user_id:ann _uid:phone", "user_id:ben email:b@x.org", "user_id:ann user_id:ben"],
        profiles: ["user_id:ann user_id:ben _uid:phone email:b@x.org"],
      },
      {
        title: "several values in one message join a user who exists and a new value",
        sent: ["user_id:ann _uid:phone", "user_id:ann2 user_id:ann", "user_id:ann2 email:a@x.org"],
        profiles: ["user_id:ann user_id:ann2 _uid:phone email:a@x.org"],
      },
      {
        title: "a user with two values is joined by a message that names one of them",
        sent: ["user_id:ann user_id:ann2", "user_id:ben", "user_id:ann2 user_id:ben"],
        profiles: ["user_id:ann user_id:ann2 user_id:ben"],
      },
      {
        title: "a message that joins two users does not join a third by an e-mail",
        sent: ["user_id:cleo email:c@x.org", "user_id:ann user_id:ben email:c@x.org"],
        profiles: ["user_id:ann user_id:ben", "user_id:cleo email:c@x.org"],
        leftOut: 1,
      },
      {
        title: "of three profiles the user decides: the e-mail of another user is left out, and a free device joins",
        sent: ["email:b@x.org user_id:ben", "_uid:phone", "_uid:phone email:b@x.org user_id:ann"],
        profiles: ["user_id:ann _uid:phone", "user_id:ben email:b@x.org"],
        leftOut: 1,
      },
      {
        title: "the first message of a service may name any identities",
        sent: ["_uid:phone _uid:tablet email:a@x.org email:b@x.org user_id:ann"],
        profiles: ["_uid:phone _uid:tablet email:a@x.org email:b@x.org user_id:ann"],
      },
      {
        title: "without a user the e-mail decides before devices",
        sent: ["_uid:phone user_id:ann", "email:b@x.org user_id:ben", "_uid:phone email:b@x.org"],
        profiles: ["_uid:phone user_id:ann", "email:b@x.org user_id:ben"],
        leftOut: 1,
        lastOf: "email:b@x.org",
      },
      {
        title: "a free e-mail takes the user of the first device of the message",
        sent: ["_uid:phone user_id:ann", "_uid:tablet user_id:ben", "_uid:tablet _uid:phone email:a@x.org"],
        profiles: ["_uid:phone user_id:ann", "_uid:tablet user_id:ben email:a@x.org"],
        leftOut: 1,
        lastOf: "_uid:tablet",
      },
      {
        title: "of two e-mails in a message the first decides",
        sent: ["email:a@x.org user_id:ann", "email:b@x.org user_id:ben", "email:b@x.org email:a@x.org email:c@x.org"],
        profiles: ["email:a@x.org user_id:ann", "email:b@x.org user_id:ben email:c@x.org"],
        leftOut: 1,
      },
      {
        title: "two identities of one other user are both left out",
        sent: ["email:a@x.org _uid:phone user_id:ann", "email:a@x.org _uid:phone user_id:ben"],
        profiles: ["email:a@x.org _uid:phone user_id:ann", "user_id:ben"],
        leftOut: 2,
      },
      {
        title: "an account keeps its domain from a second one",
        table: "account",
        sent: ["account_id:acme domain:x.org", "domain:x.org account_id:globex"],
        profiles: ["account_id:acme domain:x.org", "account_id:globex"],
        leftOut: 1,
      },
      {
        title: "companies, contents and products have protected ids too",
        table: "product",
        sent: ["product_id:p sku:s", "product_id:q sku:s"],
        profiles: ["product_id:p sku:s", "product_id:q"],
        leftOut: 1,
      },
      {
        title: "each protected field is protected by itself",
        table: "guest",
        sent: ["card:a member:m", "card:b member:n", "card:a card:b", "card:a card:b member:m member:n"],
        profiles: ["card:a card:b member:m member:n"],
        leftOut: 1,
      },
      {
        title: "profiles with values of different protected fields are joined",
        table: "guest",
        sent: ["card:a email:a@x.org", "member:m phone:p", "email:a@x.org phone:p"],
        profiles: ["card:a email:a@x.org member:m phone:p"],
      },
      {
        title: "a protected value that no profile has is left out where another one is",
        table: "guest",
        sent: ["card:a member:m", "card:a member:n", "member:n phone:p"],
        profiles: ["card:a member:m", "member:n phone:p"],
        leftOut: 1,
        lastOf: "member:n",
      },
      {
        title: "an unprotected field that is stronger decides",
        table: "guest",
        sent: ["email:a@x.org member:m", "member:n phone:p", "email:a@x.org member:n"],
        profiles: ["email:a@x.org member:m", "member:n phone:p"],
        leftOut: 1,
        lastOf: "member:m",
      },
      {
        title: "without strongest_first protected fields are the strongest",
        table: "protected_first",
        sent: ["email:a@x.org member:m", "member:n phone:p", "email:a@x.org member:n"],
        profiles: ["email:a@x.org member:m", "member:n phone:p"],
        leftOut: 1,
        lastOf: "member:n",
      },
      {
        title: "without strongest_first other fields follow as they are listed",
        table: "as_listed",
        sent: ["user_id:a phone:p", "user_id:b email:b@x.org", "email:b@x.org phone:p phone:q"],
        profiles: ["user_id:a phone:p phone:q", "user_id:b email:b@x.org"],
        leftOut: 1,
        lastOf: "phone:p",
      },
      {
        title: "a table that names no protected field protects user_id",
        table: "as_listed",
        sent: ["user_id:a phone:p", "user_id:b phone:p"],
        profiles: ["user_id:a phone:p", "user_id:b"],
        leftOut: 1,
      },
      {
        title: "a table with an empty list of protected fields joins all",
        table: "open",
        sent: ["user_id:a email:a@x.org", "user_id:b email:a@x.org"],
        profiles: ["user_id:a user_id:b email:a@x.org"],
      },
      {
        title: "a table without user_id and without protected fields joins all",
        table: "none_to_protect",
        sent: ["phone:p email:a@x.org", "phone:q email:a@x.org"],
        profiles: ["phone:p phone:q email:a@x.org"],
      },
    ];
    for (const { title, table = "user", sent, profiles, leftOut = 0, lastOf } of rows) {
      it(title, async () => {
        for (const split of ["one request", "one by one"]) {
          serial += 1;
          segment = `segment-${serial}`;
          const messages = sent.map((words, index) => message(words, { [`m${index}`]: index }));
          const requests = split === "one request" ? [messages] : messages.map((one) => [one]);
          let left = 0;
          for (const request of requests) {
            const data = await send(request, `&table=${table}`);
            left += (data.left_out as number | undefined) ?? 0;
          }
          expect(left, split).to.equal(leftOut);
          for (const words of profiles) {
            const all = sortedValues(message(words, { segments: undefined }));
            for (const word of words.split(" ")) {
              const fields = identitiesOf(words).map(([field]) => field);
              const data = Object.entries((await read(word, table)) ?? {}).filter(([name]) => fields.includes(name));
              expect(sortedValues(Object.fromEntries(data)), `${word}, ${split}`).to.deep.equal(all);
            }
          }
          expect(await members(), split).to.have.length(profiles.length);
          if (lastOf !== undefined) expect(await read(lastOf, table), split).to.have.property(`m${sent.length - 1}`);
        }
      });
    }

    it("a value that identifies no one joins no one and rejects its message alone", async () => {
      const data = await send([
        message("user_id:ann _uid:phone"),
        message("_uid:phone", { user_id: "undefined", wrong: true }),
        message("_uid:phone", { user_id: [own("ben"), "null"], wrong: true }),
        message("user_id:ben _uid:phone"),
      ]);
      expect(data).to.include({ message_count: 2, rejected_count: 2, left_out: 1 });
      expect(await read("_uid:phone")).to.deep.equal({ user_id: own("ann"), _uid: own("phone") });
      expect(await read("user_id:ben")).to.deep.equal({ user_id: own("ben") });
    });
  });

  describe("what is left out is counted:", () => {
    const shared = () => message("_uid:phone user_id:ben email:family@x.org");
    beforeEach(() => send([message("_uid:phone user_id:ann email:family@x.org")]));

    it("the response has no left_out where nothing is left out, and counts only messages that are stored", async () => {
      const none = { message_count: 1, rejected_count: 0, errors: [] };
      expect(await send([message("_uid:phone user_id:ann")])).to.deep.equal(none);
      expect(await send([shared(), shared(), message("user_id:ben")])).to.deep.equal({
        ...none,
        message_count: 3,
        left_out: 4,
      });
      await erase("user_id:ben");
      expect(await send([{ ...shared(), at: Date.now() - MINUTE_MS }])).to.deep.equal(none);
      const rejected = await send([{ ...shared(), segments: "no list" }, message("user_id:ann")]);
      expect(rejected).to.include({ rejected_count: 1 }).and.not.have.property("left_out");
    });

    it("a dry run counts what would be left out, and stores nothing", async () => {
      const before = await leftOutMetrics(service);
      expect(await send([shared()], "&dryrun=true")).to.deep.equal({
        message_count: 1,
        rejected_count: 0,
        errors: [],
        left_out: 2,
      });
      expect(await read("user_id:ben")).to.equal(undefined);
      expect(await leftOutMetrics(service)).to.deep.equal(before);
      expect(await send([message("user_id:ben")], "&dryrun=true")).to.not.have.property("left_out");
    });

    it("/metrics has a counter by field", async () => {
      const before = await leftOutMetrics(service);
      await send([shared(), message("_uid:phone user_id:ben")]);
      const after = await leftOutMetrics(service);
      const added = (field: string) => (after[field] ?? 0) - (before[field] ?? 0);
      expect([added("_uid"), added("email"), added("user_id")]).to.deep.equal([2, 1, 0]);
    });
  });

  describe("with Segment's API", () => {
    const call = async (type: string, json: object) => {
      const response = await service.fetch(`/v1/${type}`, { method: "POST", json });
      expect([response.status, await response.text()]).to.deep.equal([200, '{"success":true}']);
    };
    beforeEach(() => call("identify", { anonymousId: own("phone"), userId: own("ann"), traits: { plan: "gold" } }));

    it("the device of another user is left out of each call of the next one", async () => {
      const before = await leftOutMetrics(service);
      const person = { anonymousId: own("phone"), userId: own("ben") };
      await call("batch", {
        batch: [
          { type: "identify", ...person, traits: { city: "Rome" } },
          { type: "track", ...person, event: "Bought" },
          { type: "alias", userId: own("ben"), previousId: own("phone") },
        ],
      });
      expect(await read("_uid:phone")).to.deep.equal({ user_id: own("ann"), _uid: own("phone"), plan: "gold" });
      expect(await read("user_id:ben")).to.deep.equal({ user_id: own("ben"), city: "Rome" });
      expect((await exported("user_id:ben")).bodies).to.have.length(3);
      expect(((await leftOutMetrics(service))._uid ?? 0) - (before._uid ?? 0)).to.equal(3);
    });

    it("an alias whose previousId is a user joins the two users", async () => {
      await call("identify", { userId: own("ben"), traits: { city: "Rome" } });
      await call("alias", { userId: own("ben"), previousId: own("ann") });
      const both = await read("user_id:ben");
      expect(both).to.include({ plan: "gold", city: "Rome", _uid: own("phone") });
      expect(both?.user_id).to.have.members([own("ann"), own("ben")]);
    });

    it("an alias whose previousId is a device without a user joins the user", async () => {
      await call("track", { anonymousId: own("new") });
      await call("alias", { userId: own("ann"), previousId: own("new") });
      expect((await read("_uid:new"))?._uid).to.have.members([own("new"), own("phone")]);
    });
  });

  for (const [previous, isKnown] of [
    ["a user", true],
    ["an unknown user id", false],
  ] as const) {
    it(`an alias whose previousId is ${previous} whose deletion was accepted but has not run joins no user id`, async () => {
      const withoutWorker = await startService({ roles: ["api"] });
      const call = (type: string, json: object) => withoutWorker.fetch(`/v1/${type}`, { method: "POST", json });
      try {
        if (isKnown) await call("identify", { userId: "ann" });
        await deleteEntity(withoutWorker, "user/user_id/ann");
        await call("alias", { userId: "ben", previousId: "ann" });
        const response = await withoutWorker.fetch("/api/entity/user/user_id/ben");
        const { data } = (await response.json()) as { data: object };
        expect(data).to.deep.equal({ user_id: "ben", _uid: "ann", segments: [] });
      } finally {
        await withoutWorker.stop();
      }
    });
  }

  describe("at the same time, in one process or in several,", () => {
    const USERS = 12;
    const users = Array.from({ length: USERS }, (_, index) => `user_id:u${index}`);

    for (const [title, first] of [
      ["a new device", undefined],
      ["a device that had no user", "_uid:phone email:a@x.org"],
    ] as const) {
      it(`of ${USERS} users who log in on ${title} one has it`, async () => {
        if (first !== undefined) await send([message(first)]);
        const logins = users.map((user, index) =>
          send([message(`${user} _uid:phone`, { [`m${index}`]: index })], "", {}, index % 2 === 0 ? service : other),
        );
        const left = (await Promise.all(logins)).map(({ left_out = 0 }) => left_out);
        expect(left.filter((count) => count === 0)).to.have.length(1);
        const owner = left.indexOf(0);
        expect(left.filter((count) => count === 1)).to.have.length(USERS - 1);
        for (const [index, user] of users.entries()) {
          const weak = { _uid: own("phone"), ...(first === undefined ? {} : { email: own("a@x.org") }) };
          const identities = { user_id: own(`u${index}`), ...(index === owner ? weak : {}) };
          expect(await read(user), user).to.deep.equal({ ...identities, [`m${index}`]: index });
        }
        expect((await read("_uid:phone"))?.user_id).to.equal(own(`u${owner}`));
      });
    }

    it("users whose messages name each other's e-mails stay what they are", async () => {
      await Promise.all(users.map((user, index) => send([message(`${user} email:e${index}@x.org`)])));
      const crossed = users.flatMap((user, index) =>
        [1, 5].map((step) =>
          send([message(`${user} email:e${(index + step) % USERS}@x.org`)], "", {}, step === 1 ? service : other),
        ),
      );
      for (const { left_out } of await Promise.all(crossed)) expect(left_out).to.equal(1);
      for (const [index, user] of users.entries()) {
        expect(await read(user)).to.deep.equal({ user_id: own(`u${index}`), email: own(`e${index}@x.org`) });
      }
    });
  });
});

/** Identities that a deletion named to the system, sorted. */
function namedTo({ calls }: RemoteSystem, requestId: string): string[] {
  const all = calls.filter(({ body }) => body.request_id === requestId).flatMap(({ body }) => body.identities);
  return [...new Set(all.map(({ field, value }) => `${field}:${value}`))].sort();
}

/** Counters of identities that were left out, by field. */
async function leftOutMetrics(service: TestService): Promise<Record<string, number>> {
  const text = await (await service.fetch("/metrics")).text();
  const lines = text.matchAll(/^entity_metrics_identities_left_out_total\{field="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, field, count]) => [field, Number(count)]));
}

function sortedValues(fields: object): object {
  const entries = Object.entries(fields).filter(([, values]) => values !== undefined);
  return Object.fromEntries(entries.map(([field, values]) => [field, [values].flat().sort()]));
}
