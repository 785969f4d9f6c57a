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

  const exact = [
    ...["9007199254740991", "-9007199254740991", "9007199254740992", "100000000000000000000", "1e20"],
    ...["12345678901234567890.5", "0.12345678901234567", "-1.5e00000000000000002"],
    ...['"9007199254740993"', '"\\"9007199254740993"', '["\\\\\\"9007199254740993",1]'],
  ];
  const rounded = [
    ...["9007199254740993", "-9007199254740993", "12345678901234567890", `1${"0".repeat(400)}`],
    ...['[{"y":9007199254740993}]', '["\\\\",9007199254740993]'],
  ];
  for (const [type, wrap] of [
    ["application/x-ndjson", (lines: string[]) => lines.join("\n")],
    ["application/json", (lines: string[]) => `[${lines.join(",")}]`],
  ] as const) {
    it(`are stored unchanged, or rejected if a double would round a number (${type})`, async () => {
      const messages = [...exact, ...rounded].map((written, n) => `{"_uid":"${own("a")}-${n}","x":${written}}`);
      const { data } = await post(wrap(messages), { type });
      expect(data).to.include({ message_count: exact.length, rejected_count: rounded.length });
      for (const { code } of data?.errors ?? []) expect(code).to.equal("invalid_number");
      for (const [n, written] of exact.entries())
        expect(await read(`${own("a")}-${n}`)).to.include(`"x":${JSON.stringify(JSON.parse(written))}`);
      for (const n of rounded.keys()) expect(await read(`${own("a")}-${exact.length + n}`)).to.equal(undefined);
    });
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
