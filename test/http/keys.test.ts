import { expect } from "chai";
import { rawRequest } from "../support/raw-request.js";
import { newKey, serviceOfSuite, startService } from "../support/service.js";

describe("an API key", () => {
  const now = Date.now();

  const service = serviceOfSuite({}, { clock: () => now, wrongKeysPerMinute: 1_000 });

  const status = async (path: string, key: string | null) => (await service.fetch(path, { key })).status;

  const basic = (credentials: string) => `Basic ${btoa(credentials)}`;
  const forms: [string, (key: string) => string][] = [
    ["alone", (key) => key],
    ["after Bearer", (key) => `Bearer ${key}`],
    ["after bearer", (key) => `bearer ${key}`],
    ["after Token", (key) => `Token ${key}`],
    ["as user name of Basic", (key) => basic(key)],
    ["as user name of Basic with a password", (key) => basic(`${key}:x:y`)],
    ["as password of Basic", (key) => basic(`prometheus:${key}`)],
    ["as password of basic without a user name", (key) => basic(`:${key}`).replace("Basic", "basic")],
  ];
  for (const [name, form] of forms) {
    it(`is accepted ${name}`, async () => {
      const { key } = await newKey(service, ["metric:read"], now);
      expect(await status("/metrics", form(key))).to.equal(200);
    });
  }

  const form = "em_<id>_<secret>, alone, after Bearer or Token, or as user name or password of Basic";

  const absent: [string, string | null][] = [
    ["none", null],
    ["an empty one", ""],
    ["a scheme alone", "Bearer "],
    ...["Basic", "Bearer", "Token"].map((scheme): [string, string] => [`${scheme} alone`, scheme]),
    ["Basic without user name and password", basic(":")],
  ];
  const wrong: [string, (key: string) => string][] = [
    ...["secret", "em_\u00e4_0123456789abcdef0123456789abcdef", "em__", "em_a_", "__proto__"].map(
      (key): [string, () => string] => [`${key}, of another form`, () => key],
    ),
    ["one of an unknown id", () => "em_nobody_0123456789abcdef0123456789abcdef"],
    ["a wrong secret", (key) => `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`],
    ["one character more", (key) => `${key}0`],
    ["one character less", (key) => key.slice(0, -1)],
    ["another scheme", (key) => `Digest ${key}`],
    ["Basic that is not encoded", (key) => `Basic ${key}`],
    ["Basic of another key", (key) => basic(`a:${key}0`)],
    ["Basic of a part of the key", (key) => basic(key.replace("_", ":"))],
    ["two keys in one header", (key) => `${key}, ${key}`],
    ["the digest instead of the key", (key) => `em_${key.split("_")[1]}_${"a".repeat(64)}`],
  ];

  /** The single text of all these rejections. */
  async function refusal(presented: readonly (readonly [name: string, key: string | null])[]): Promise<string> {
    const answers = new Set<string>();
    for (const [name, key] of presented) {
      const response = await service.fetch("/metrics", { key });
      expect(response.status, name).to.equal(401);
      expect(response.headers.get("www-authenticate"), name).to.match(/^Bearer/);
      answers.add(await response.text());
    }
    expect([...answers]).to.have.length(1);
    expect([...answers][0]).to.include("Not authorized");
    return [...answers][0] ?? "";
  }

  it("that is wrong or revoked is refused with one message, which calls the key not valid", async () => {
    const { key } = await newKey(service, ["metric:read"], now);
    const revoked = await newKey(service, ["metric:read"], now);
    await service.service.stores.keys.revoke(revoked.id, now);
    const presented = wrong.map(([name, make]) => [name, make(key)] as const);
    const text = await refusal([...presented, ["a revoked one", revoked.key]]);
    expect(JSON.parse(text)).to.deep.equal({
      status: 401,
      message: "Not authorized",
      data: null,
      errors: [
        {
          code: "unauthenticated",
          path: "Authorization",
          message: `The API key is not valid; its form must be ${form}`,
        },
      ],
    });
  });

  it("that is missing is refused with a description of how to send one", async () => {
    expect(await refusal(absent)).to.contain(`Send an API key in the Authorization header: ${form}`);
  });

  it("in the query is accepted only if key_in_query is set", async () => {
    expect(await status(`/metrics?key=${service.key}`, null)).to.equal(401);
    const open = await startService({ http: { key_in_query: true } });
    expect((await open.fetch(`/metrics?key=${open.key}`, { key: null })).status).to.equal(200);
    expect((await open.fetch("/metrics?key=em_x_1", { key: null })).status).to.equal(401);
  });

  it("is checked before the body is requested", async () => {
    const body = "Content-Type: application/json\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n";
    const answer = await rawRequest(service.port, `POST /api/metric HTTP/1.1\r\nHost: a\r\n${body}\r\n`);
    expect(answer.status).to.equal(401);
  });
});
