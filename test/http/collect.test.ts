import { expect } from "chai";
import { collectStage, NOW } from "../support/collect-stage.js";

const HOUR = 3_600_000;

describe("collecting messages", () => {
  const on = collectStage();
  const { own, post, taken, read, counted } = on;

  it("stores the valid messages of an array, and reports the invalid ones by position", async () => {
    const { status, body } = await post([
      { _uid: own("a") },
      { name: "x" },
      7,
      { _uid: own("b"), email: [{}] },
      { _uid: own("c") },
    ]);
    expect(status).to.equal(200);
    expect(body.data).to.deep.include({ message_count: 2, rejected_count: 3 });
    expect(body.data.errors.map(({ code, path }) => [code, path])).to.deep.equal([
      ["no_identity", "[1]"],
      ["not_an_object", "[2]"],
      ["invalid_identity", "[3].email"],
    ]);
    expect(await read(own("b"))).to.equal(undefined);
    expect(await read(own("c"))).to.not.equal(undefined);
    expect(Object.values(await counted())).to.deep.equal([2]);
  });

  it("reports invalid lines by number, also lines that are too long or not UTF-8", async () => {
    const long = `{"_uid":"${own("a")}","x":"${"x".repeat(65_536)}"}`;
    const bytes = Buffer.concat([
      Buffer.from(`{"_uid":"${own("a")}"}\n\n${long}\nnot json\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(`{"_uid":"${own("b")}","segments":1}\n{"_uid":"${own("c")}"}`),
    ]);
    const { status, body } = await post(bytes);
    expect(status).to.equal(200);
    expect(body.data).to.deep.include({ message_count: 2, rejected_count: 4 });
    expect(body.data.errors.map(({ code, path }) => [code, path])).to.deep.equal([
      ["too_long", "line 3"],
      ["not_json", "line 4"],
      ["not_utf8", "line 5"],
      ["invalid_segments", "line 6, segments"],
    ]);
  });

  it("reports the first hundred rejections, and counts the others", async () => {
    const { body } = await post("{}\n".repeat(1234));
    expect(body.data).to.deep.include({ message_count: 0, rejected_count: 1234 });
    expect(body.data.errors).to.have.length(100);
    expect(body.data.errors.at(-1)).to.have.property("path", "line 100");
  });

  for (const [what, written, at] of [
    ["RFC 3339 with an offset", "2024-06-01T10:20:30.5+02:00", Date.UTC(2024, 5, 1, 8, 20, 30, 500)],
    ["epoch s", NOW / 1000 - 7200, NOW - 2 * HOUR],
    ["an absent field", undefined, NOW],
    ["null", null, NOW],
  ] as const) {
    it(`counts a message in the slot of its event time, given as ${what}`, async () => {
      await taken({ _uid: own("a"), when: written }, 1, "?timestamp_field=when");
      expect(await counted()).to.deep.equal({ [at - (at % HOUR)]: 1 });
    });
  }

  for (const [what, body, status, code, query, type] of [
    ["an empty body", "", 400, "empty"],
    ["blank lines alone", "\n\n", 400, "empty"],
    ["an empty array", [], 400, "empty"],
    ["a single invalid object", { name: "x" }, 400, "no_identity"],
    ["JSON and something more", "{} {}", 400, "not_json", "", "application/json"],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22]), 400, "not_utf8", "", "application/json"],
    ["__proto__", '{"_uid":"a","__proto__":{"polluted":1}}', 400, "invalid_name", "", "application/json"],
    ["plain text", "x", 415, "unsupported-media", "", "text/plain"],
    ["an unknown table", { _uid: "a" }, 404, "unknown_table", "?table=thing"],
    [
      "segments as the field of the event time",
      { _uid: "a" },
      400,
      "invalid_timestamp_field",
      "?timestamp_field=segments",
    ],
    ["an invalid event time", { _uid: "a", t: "Tue" }, 400, "invalid_time", "?timestamp_field=t"],
    ["an event time in the future", { _uid: "a", t: "2024-06-15T12:50:00Z" }, 400, "time_ahead", "?timestamp_field=t"],
  ] as [string, unknown, number, string, string?, string?][]) {
    it(`refuses ${what} with ${status}, and counts nothing`, async () => {
      const answer = await post(body, query, type);
      expect(answer.status).to.equal(status);
      expect(answer.body).to.include({ status, data: null });
      expect(answer.body)
        .to.have.nested.property("errors[0].code")
        .that.satisfies((found: string) => found.replace("_", "-") === code.replace("_", "-"));
      expect(await counted()).to.deep.equal({});
      expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
    });
  }

  for (const name of ["a b", "a%2Fb", "%C3%A9", "x".repeat(129), "$where"]) {
    it(`refuses the stream name ${name.slice(0, 9)}`, async () => {
      const answer = await on.service.fetch(`/collect/json/${name}`, { method: "POST", json: { _uid: "a" } });
      expect(answer.status).to.equal(400);
    });
  }
});
