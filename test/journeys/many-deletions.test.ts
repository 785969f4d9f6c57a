import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { collectThrough } from "../support/requests.js";
import { amount } from "../support/servers.js";
import { newKey, serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

/** Items of a request in several batches. */
const MANY = amount(450, 210);

const LINES = { "content-type": "application/x-ndjson" };

type Result = { request_id: string; completed: boolean } | { errors: { code: string; path: string }[] };

describe("POST /api/deletion", () => {
  const service = serviceOfSuite();
  let serial = 0;
  beforeEach(() => {
    serial += 1;
  });

  const own = (name: string) => `${name}-${serial}`;
  const person = (name: string) => ({ field: "user_id", value: own(name) });

  const collect = (...names: readonly string[]) =>
    collectThrough(
      service,
      names.map((name) => ({ user_id: own(name), email: `${own(name)}@example.org`, segments: ["all"] })),
    );

  const statusOfPerson = async (name: string) =>
    (await service.fetch(`/api/entity/user/email/${own(name)}@example.org`)).status;

  async function post(json: unknown, headers: Record<string, string> = {}) {
    const response = await service.fetch("/api/deletion", { method: "POST", json, headers });
    const body = (await response.json()) as { status: number; message: string; data: Result[]; errors: unknown };
    return { status: response.status, body, headers: response.headers };
  }

  async function postLines(body: string, headers: Record<string, string> = {}) {
    const response = await service.fetch("/api/deletion", { method: "POST", body, headers: { ...LINES, ...headers } });
    const text = await response.text();
    if (response.status !== 200) return { status: response.status, lines: [] };
    expect(response.headers.get("content-type")).to.equal("application/x-ndjson");
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Result & Record<string, unknown>);
    return { status: response.status, lines };
  }

  const linesOf = (items: readonly object[]) => items.map((item) => `${JSON.stringify(item)}\n`).join("");
  const ids = (results: readonly object[]) => results.map((one) => ("request_id" in one ? one.request_id : undefined));

  async function completed(results: readonly object[]): Promise<void> {
    for (const id of ids(results)) {
      await until("the deletion is completed", async () => {
        const response = await service.fetch(`/api/entity/deletestatus/${id}`);
        return ((await response.json()) as { data: { completed: boolean } }).data.completed;
      });
    }
  }

  it("erases each person of an array, and returns a request for each item in order, known or not", async () => {
    await collect("ann", "ben", "cleo");
    const { status, body, headers } = await post([
      { table: "user", ...person("ann") },
      person("nobody"),
      { table: null, field: "email", value: `${own("BEN")}@example.org` },
    ]);
    expect([status, body.message]).to.deep.equal([200, "Delete request received"]);
    expect(headers.get("cache-control")).to.equal("no-store");
    expect(body.data).to.have.length(3);
    for (const one of body.data) {
      expect(one).to.have.all.keys("request_id", "completed").and.include({ completed: false });
      expect(ids([one])[0]).to.match(/^[0-9a-f]{20}-[0-9]{10}$/);
    }
    expect(new Set(ids(body.data)).size).to.equal(3);
    for (const name of ["ann", "ben"]) expect(await statusOfPerson(name)).to.equal(404);
    expect(await statusOfPerson("cleo")).to.equal(200);
    await completed(body.data);
  });

  it("accepts a single object, and a number as identity", async () => {
    const { body } = await post({ field: "user_id", value: 12345 });
    expect(body.data).to.have.length(1);
    const { ledger } = service.service.stores;
    const asText = await post({ field: "user_id", value: "12345" });
    const [one, other] = await Promise.all([body, asText.body].map(({ data }) => ledger.find(ids(data)[0] as string)));
    expect(one?.hashes).to.deep.equal(other?.hashes);
  });

  it("reports a bad item in its place, and accepts the others", async () => {
    const bad = [
      [{ table: "nobody", field: "email", value: "a@b.c" }, "unknown_table", "table"],
      [{ field: "name", value: "a" }, "not_an_identity", "field"],
      [{ field: "email" }, "required", "value"],
      [{ field: "email", value: " " }, "empty_identity", "value"],
      [{ field: "email", value: { $ne: 1 } }, "invalid_identity", "value"],
      [{ field: "email", value: "anonymous" }, "placeholder_identity", "value"],
      [{ field: "user_id", value: 1.5 }, "invalid_identity", "value"],
      [{ field: "email", value: "a@b.c", mail: 1 }, "unknown_field", ""],
      [[], "not_an_object", ""],
      [7, "not_an_object", ""],
      [{ field: "email", value: "x".repeat(1025) }, "identity_too_long", "value"],
      [{ field: "email", value: "x".repeat(70_000) }, "too_long", ""],
    ] as const;
    await collect("ann");
    const items = [...bad.map(([item]) => item), person("ann")];
    const { body } = await post(items);
    const at = (index: number, path: string) => `[${index}]${path === "" ? "" : `.${path}`}`;
    expect(
      body.data.slice(0, -1).map((one) => ("errors" in one ? one.errors.map(({ code, path }) => [code, path]) : [])),
    ).to.deep.equal(bad.map(([, code, path], index) => [[code, at(index, path)]]));
    expect(body.data.at(-1)).to.have.property("request_id");
    expect(await statusOfPerson("ann")).to.equal(404);
    const { lines } = await postLines(items.map((item) => `${JSON.stringify(item)}\n`).join(""));
    expect(lines.at(-1)).to.deep.equal({ type: "end", accepted: 1, rejected: bad.length });
  });

  it("refuses a body without any item that can be accepted", async () => {
    expect((await post([])).status).to.equal(400);
    const all = await post([{ field: "email", value: "" }, {}]);
    expect(all.status).to.equal(400);
    expect(all.body.errors).to.have.length(2);
    expect((await post({ field: "email", value: "" })).body.errors).to.have.nested.property("[0].path", "value");
    expect((await post(Array(1001).fill(person("ann")))).status).to.equal(413);
    expect((await post(Array(1000).fill({ field: "user_id", value: "" }))).body.errors).to.have.length(100);
    const { ledger } = service.service.stores;
    expect((await ledger.list({ state: "all", newestFirst: true, limit: 1000 })).length).to.be.below(1000);
  });

  it("answers NDJSON with a line for each line that is not blank, and the counts", async () => {
    await collect("ann", "ben");
    const { lines } = await postLines(
      `\n${JSON.stringify(person("ann"))}\n  \n{"field":\n${JSON.stringify(person("ben"))}`,
    );
    expect(lines).to.have.length(4);
    expect(lines[1]?.errors).to.have.nested.property("[0].path", "line 4");
    expect(lines.at(-1)).to.deep.equal({ type: "end", accepted: 2, rejected: 1 });
    for (const name of ["ann", "ben"]) expect(await statusOfPerson(name)).to.equal(404);
    expect((await postLines("")).lines).to.deep.equal([{ type: "end", accepted: 0, rejected: 0 }]);
    await completed([lines[0], lines[2]] as object[]);
  });

  it("accepts each item that names the same person, in the order of the body", async () => {
    await collect("ann");
    const items = Array.from({ length: 30 }, () => person("ann"));
    const { lines } = await postLines(linesOf(items));
    expect(new Set(ids(lines.slice(0, -1))).size).to.equal(30);
    await completed(lines.slice(0, -1));
  });

  it("returns the same bytes except the ids for known and unknown people (P22)", async () => {
    await collect("k0", "k1", "k2");
    const answers = ["k", "nobody"].map(async (name) => {
      const items = [0, 1, 2].map((index) => person(`${name}${index}`));
      const [json, lines] = await Promise.all([post(items), postLines(linesOf(items))]);
      return JSON.stringify([json.body, lines]).replaceAll(/[0-9a-f]{20}-[0-9]+/g, "ID");
    });
    const [known, unknown] = await Promise.all(answers);
    expect(known).to.equal(unknown);
  });

  describe("P33: with an Idempotency-Key", () => {
    const key = () => ({ "idempotency-key": own("key") });
    const people = (count: number, first = 0) =>
      Array.from({ length: count }, (_, index) => person(`p${first + index}`));
    const accepted = async () => service.service.stores.ledger.count("all");

    it("returns the same request ids in a repeat, each with its current state", async () => {
      await collect("p0", "p1");
      const items = [...people(MANY), { field: "email" }];
      const first = await postLines(linesOf(items), key());
      const found = ids(first.lines.slice(0, -2));
      expect(new Set(found).size).to.equal(MANY);
      await completed(first.lines.slice(0, -2));
      const before = await accepted();
      const again = await postLines(linesOf(items), key());
      expect(ids(again.lines.slice(0, -2))).to.deep.equal(found);
      expect(again.lines.slice(0, -2).every((line) => "completed" in line && line.completed)).to.equal(true);
      expect(again.lines.slice(-2)).to.deep.equal(first.lines.slice(-2));
      expect(await accepted()).to.equal(before);
    });

    it("returns the same request ids in a repeat of JSON, an array and a single object", async () => {
      for (const json of [[...people(3), { field: "email" }], person("single")]) {
        serial += 1;
        const first = await post(json, key());
        const again = await post(json, key());
        expect(ids(again.body.data)).to.deep.equal(ids(first.body.data));
        expect((await post(json, { "idempotency-key": `${own("key")} 2` })).body.data).to.not.deep.equal(
          first.body.data,
        );
      }
      const refused = await post([{ field: "email" }], key());
      expect(await post([{ field: "email" }], key())).to.deep.include({ status: refused.status, body: refused.body });
    });

    it("refuses another body under the same key with 422, and accepts none of its items", async () => {
      await postLines(linesOf(people(MANY)), key());
      const before = await accepted();
      expect((await postLines(linesOf(people(MANY, 1)), key())).status).to.equal(422);
      expect((await postLines("{}\n", key())).lines.at(-1)).to.deep.include({ type: "error", status: 422 });
      // These begin as the first body does, so that the response has begun.
      for (const items of [people(MANY - 1), people(MANY + 1), [...people(MANY - 1), person("another")]]) {
        const { lines } = await postLines(linesOf(items), key());
        const { errors, ...last } = lines.at(-1) as { errors: { code: string }[] };
        expect(last).to.deep.include({ type: "error", status: 422, data: null });
        expect(errors[0]?.code).to.equal("unprocessable");
      }
      expect((await post(people(MANY), key())).status).to.equal(422);
      expect(await accepted()).to.equal(before);
    });

    it("accepts each item once when equal requests arrive at the same time", async () => {
      await collect("p0", "p1", "p2");
      const before = await accepted();
      const body = linesOf(people(MANY));
      const all = await Promise.all(Array.from({ length: 4 }, () => postLines(body, key())));
      for (const { lines } of all) expect(ids(lines)).to.deep.equal(ids(all[0]?.lines ?? []));
      expect(await accepted()).to.equal(before + MANY);
      await completed(all[0]?.lines.slice(0, -1) ?? []);
    });

    it("distinguishes API keys, and accepts a key of 1 to 256 printable characters", async () => {
      const items = people(2);
      const first = await post(items, key());
      const other = await newKey(service, ["entity:delete"]);
      const second = await post(items, { ...key(), authorization: other.key });
      expect(second.status).to.equal(200);
      expect(ids(second.body.data)).to.not.have.members(ids(first.body.data));
      for (const wrong of ["", "x".repeat(257)])
        expect((await post(items, { "idempotency-key": wrong })).body.errors).to.have.nested.property(
          "[0].code",
          "invalid_idempotency_key",
        );
    });
  });
});

describe("POST /api/deletion with a slow caller", function () {
  this.timeout(60_000);
  const service = serviceOfSuite({ limits: { store_deadline_ms: 1_000 } });

  it("reads the body only as fast as its caller reads the response, however long that takes (P33)", async () => {
    const head = `POST /api/deletion HTTP/1.1\r\nHost: a\r\nAuthorization: ${service.key}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const socket = connect(service.port, "127.0.0.1").pause();
    const lines = `{"value":"${"x".repeat(300)}"}\n`.repeat(10_000);
    const chunk = `${lines.length.toString(16)}\r\n${lines}\r\n`;
    const drained = () => Promise.race([once(socket, "drain").then(() => true), sleep(3_000).then(() => false)]);
    // More than the buffers of the connection hold.
    const most = 300_000;
    let sent = 0;
    try {
      socket.write(head);
      for (; sent < most && (socket.write(chunk) || (await drained())); sent += 10_000);
      expect(sent).to.be.below(most);
      socket.end("0\r\n\r\n");
      let tail = "";
      for await (const bytes of socket.resume()) tail = (tail + String(bytes)).slice(-300);
      expect(tail).to.match(/"type":"end","accepted":0,"rejected":\d+/);
    } finally {
      socket.destroy();
    }
  });
});
