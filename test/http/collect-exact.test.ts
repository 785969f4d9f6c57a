import { expect } from "chai";
import { serviceOfSuite } from "../support/service.js";

interface Tally {
  message_count: number;
  rejected_count: number;
  errors: { code: string; path: string }[];
}

describe("collected messages", () => {
  let serial = 0;

  const service = serviceOfSuite({ roles: ["api"] });
  beforeEach(() => {
    serial += 1;
  });

  const own = (value: string) => `${value}${serial}`;

  async function post(body: string | Uint8Array, { type = "application/x-ndjson", query = "" } = {}) {
    const answer = await service.fetch(`/collect/json/${own("stream")}${query}`, {
      method: "POST",
      body,
      headers: { "content-type": type },
    });
    return { status: answer.status, ...((await answer.json()) as { data: Tally | null; errors?: { code: string }[] }) };
  }

  async function read(value: string): Promise<string | undefined> {
    const answer = await service.fetch(`/api/me/_uid/${value}?segments=false&meta=false`);
    return answer.status === 200 ? await answer.text() : undefined;
  }

  for (const [type, wrap] of [
    ["application/x-ndjson", (lines: string[]) => lines.join("\n")],
    ["application/json", (lines: string[]) => `[${lines.join(",")}]`],
  ] as const) {
    for (const [written, kept] of [
      ["9007199254740991", true],
      ["-9007199254740991", true],
      ["9007199254740992", true],
      ["9007199254740993", false],
      ["-9007199254740993", false],
      ["12345678901234567890", false],
      ["100000000000000000000", true],
      [`1${"0".repeat(400)}`, false],
      ["1e20", true],
      ["12345678901234567890.5", true],
      ['"9007199254740993"', true],
      ['"\\"9007199254740993"', true],
      ['[{"y":9007199254740993}]', false],
      ['["\\\\",9007199254740993]', false],
      ['["\\\\\\"9007199254740993",1]', true],
      ["0.12345678901234567", true],
      ["-1.5e00000000000000002", true],
    ] as const) {
      const named = written.length > 40 ? "a number of 401 digits" : written;
      it(`with the value ${named} are ${kept ? "stored unchanged" : "rejected, not rounded"} (${type})`, async () => {
        const { data } = await post(wrap([`{"_uid":"${own("a")}","x":${written}}`, `{"_uid":"${own("b")}"}`]), {
          type,
        });
        expect(data).to.include({ message_count: kept ? 2 : 1, rejected_count: kept ? 0 : 1 });
        if (!kept) expect(data?.errors[0]).to.include({ code: "invalid_number" });
        const answer = await read(own("a"));
        if (kept) expect(answer).to.include(`"x":${JSON.stringify(JSON.parse(written))}`);
        else expect(answer).to.equal(undefined);
        expect(await read(own("b"))).to.not.equal(undefined);
      });
    }
  }

  it("are checked to the end if a long integer follows a string of 15 MB", async () => {
    const long = `{"_uid":"${own("a")}","text":"${"x".repeat(15_500_000)}","x":9007199254740993}`;
    const { data } = await post(`[${long},{"_uid":"${own("b")}"}]`, { type: "application/json" });
    expect(data).to.include({ message_count: 1, rejected_count: 1 });
    expect(data?.errors[0]).to.include({ code: "invalid_number", path: "[0]" });
    expect(await read(own("b"))).to.not.equal(undefined);
  });

  it("are neither stored nor counted in a dry run, whose response equals the response of a real run", async () => {
    const body = [
      `{"_uid":"${own("a")}","x":1,"segments":["${own("s")}"]}`,
      "not json",
      `{"_uid":"${own("b")}"}`,
      `{"x":1}`,
    ].join("\n");
    const dry = await post(body, { query: "?dryrun=true" });
    expect(await read(own("a"))).to.equal(undefined);
    const { stores } = service.service;
    const counts = await stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 9999);
    expect(counts.filter(({ stream }) => stream === own("stream"))).to.deep.equal([]);
    expect((await service.fetch(`/api/segment/${own("s")}`)).status).to.equal(404);
    expect(await post(body, { query: "?dryrun=false" })).to.deep.equal(dry);
    expect(dry.data).to.include({ message_count: 2, rejected_count: 2 });
    expect(await read(own("a"))).to.not.equal(undefined);
  });

  it("are refused with 400 in a dry run if the only one is invalid", async () => {
    const { status } = await post(`{"x":1}`, { type: "application/json", query: "?dryrun=true" });
    expect(status).to.equal(400);
  });

  it("of a dry run do not use up their Idempotency-Key", async () => {
    const send = (value: string) =>
      service.fetch(`/collect/json/${own("stream")}?dryrun=true`, {
        method: "POST",
        json: { _uid: own(value) },
        headers: { "idempotency-key": own("key") },
      });
    expect((await send("a")).status).to.equal(200);
    expect((await send("b")).status).to.equal(200);
  });
});
