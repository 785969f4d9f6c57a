import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { deleteEntity, isCompleteIn } from "../support/requests.js";
import { storesOnServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

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

    it("the DELETE of the first by the device leaves the second with all that is theirs", async () => {
      const id = await erase("_uid:tablet");
      for (const gone of ["user_id:ann", "_uid:tablet"]) expect(await read(gone)).to.equal(undefined);
      expect(await exported("user_id:ben")).to.deep.include({ identities: { user_id: [own("ben")] }, bodies: [ben] });
      expect(await members()).to.deep.equal([{ user_id: [own("ben")] }]);
      expect(namedTo(crm, id)).to.deep.equal([`_uid:${own("tablet")}`, `user_id:${own("ann")}`]);
    });
  });

  /** Examples; `shared-identities` compares random histories with a model. */
  const rows: [title: string, table: string, sent: Words[], profiles: Words[], leftOut: number][] = [
    [
      "a family's e-mail belongs to the user who used it first",
      "user",
      ["user_id:ann email:family@x.org", "user_id:ben email:Family@X.org"],
      ["user_id:ann email:family@x.org", "user_id:ben"],
      1,
    ],
    [
      "several values of a protected field in one message join two users",
      "user",
      ["user_id:ann _uid:phone", "user_id:ben email:b@x.org", "user_id:ann user_id:ben"],
      ["user_id:ann user_id:ben _uid:phone email:b@x.org"],
      0,
    ],
    [
      "an account keeps its domain from a second one",
      "account",
      ["account_id:acme domain:x.org", "domain:x.org account_id:globex"],
      ["account_id:acme domain:x.org", "account_id:globex"],
      1,
    ],
    [
      "each protected field is protected by itself",
      "guest",
      ["card:a member:m", "card:b member:n", "card:a card:b", "card:a card:b member:m member:n"],
      ["card:a card:b member:m member:n"],
      1,
    ],
    [
      "an unprotected field that is stronger decides",
      "guest",
      ["email:a@x.org member:m", "member:n phone:p", "email:a@x.org member:n phone:q"],
      ["email:a@x.org member:m phone:q", "member:n phone:p"],
      1,
    ],
    [
      "without strongest_first protected fields are the strongest",
      "protected_first",
      ["email:a@x.org member:m", "member:n phone:p", "email:a@x.org member:n phone:q"],
      ["email:a@x.org member:m", "member:n phone:p phone:q"],
      1,
    ],
    [
      "without strongest_first other fields follow as they are listed",
      "as_listed",
      ["user_id:a phone:p", "user_id:b email:b@x.org", "email:b@x.org phone:p phone:q"],
      ["user_id:a phone:p phone:q", "user_id:b email:b@x.org"],
      1,
    ],
    [
      "a table with an empty list of protected fields joins all",
      "open",
      ["user_id:a email:a@x.org", "user_id:b email:a@x.org"],
      ["user_id:a user_id:b email:a@x.org"],
      0,
    ],
  ];
  for (const [title, table, sent, profiles, leftOut] of rows) {
    it(title, async () => {
      const { left_out = 0 } = await send(
        sent.map((words) => message(words)),
        `&table=${table}`,
      );
      expect(left_out).to.equal(leftOut);
      for (const words of profiles) {
        const all = sortedValues(message(words, { segments: undefined }));
        for (const word of words.split(" ")) expect(sortedValues((await read(word, table)) ?? {})).to.deep.equal(all);
      }
      expect(await members()).to.have.length(profiles.length);
    });
  }

  describe("what is left out is counted:", () => {
    const shared = () => message("_uid:phone user_id:ben email:family@x.org");
    beforeEach(() => send([message("_uid:phone user_id:ann email:family@x.org")]));

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

  it("the device of another user is left out of each call of Segment's API of the next one", async () => {
    const call = async (type: string, json: object) => {
      const response = await service.fetch(`/v1/${type}`, { method: "POST", json });
      expect([response.status, await response.text()]).to.deep.equal([200, '{"success":true}']);
    };
    await call("identify", { anonymousId: own("phone"), userId: own("ann"), traits: { plan: "gold" } });
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

  for (const [previous, isKnown] of [
    ["a user", true],
    ["an unknown user id", false],
  ] as const) {
    it(`an alias whose previousId is ${previous} whose deletion was accepted but has not run joins no user id`, async () => {
      const withoutWorker = await startService({ roles: ["api"] });
      const call = (type: string, json: object) => withoutWorker.fetch(`/v1/${type}`, { method: "POST", json });
      if (isKnown) await call("identify", { userId: "ann" });
      await deleteEntity(withoutWorker, "user/user_id/ann");
      await call("alias", { userId: "ben", previousId: "ann" });
      const response = await withoutWorker.fetch("/api/entity/user/user_id/ben");
      const { data } = (await response.json()) as { data: object };
      expect(data).to.deep.equal({ user_id: "ben", _uid: "ann", segments: [] });
    });
  }

  it("of 12 users who log in on a device at the same time, in one process or in several, one has it", async () => {
    const logins = Array.from({ length: 12 }, (_, index) =>
      send([message(`user_id:u${index} _uid:phone`)], "", {}, index % 2 === 0 ? service : other),
    );
    const left = (await Promise.all(logins)).map(({ left_out = 0 }) => left_out);
    const owner = left.indexOf(0);
    expect(left).to.deep.equal(left.map((_, index) => (index === owner ? 0 : 1)));
    for (const index of left.keys()) {
      const device = index === owner ? { _uid: own("phone") } : {};
      expect(await read(`user_id:u${index}`)).to.deep.equal({ user_id: own(`u${index}`), ...device });
    }
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
