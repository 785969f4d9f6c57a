import { gzipSync } from "node:zlib";
import { Type } from "@sinclair/typebox";
import { expect } from "chai";
import { success } from "../../src/http/core/responses.js";
import { route } from "../../src/http/core/route.js";
import { serveRoutes } from "../support/routes-alone.js";
import { startService, type TestService } from "../support/service.js";

/** A route with a field of each type. */
const things = route({
  method: "PUT",
  path: "/things/:id",
  scopes: ["admin"],
  docs: { id: "putThing", tag: "catalogue", summary: "Make a thing" },
  params: { id: Type.String({ maxLength: 3, issue: { code: "bad_id", message: "At most 3 characters" } }) },
  query: { dry: Type.Boolean({ default: false }) },
  body: {
    schema: Type.Object(
      {
        name: Type.String({ minLength: 1, description: "A name." }),
        count: Type.Optional(Type.Integer({ maximum: 9, description: "At most 9." })),
        share: Type.Optional(Type.Number()),
        open: Type.Optional(Type.Boolean({ description: "Open or not." })),
        parts: Type.Optional(Type.Array(Type.String(), { description: "Texts." })),
      },
      { additionalProperties: false },
    ),
    examples: () => ({ thing: { name: "a" } }),
  },
  responses: { 200: success("Thing", Type.Object({ id: Type.String(), dry: Type.Boolean(), name: Type.String() })) },
  handler: ({ params: { id }, query: { dry }, body: { name } }) => ({ data: { id, dry, name }, message: "made" }),
});

describe("a route whose query and body have schemas", () => {
  let address: string;
  let stop: () => void;

  before(async () => {
    const { server, port } = await serveRoutes([things]);
    address = `http://127.0.0.1:${port}`;
    stop = () => {
      server.closeAllConnections();
      server.close();
    };
  });
  after(() => stop());

  const put = async (target: string, body: string) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${address}${target}`, { method: "PUT", headers, body });
    return (await response.json()) as { status: number; message: string; data: unknown; errors: object[] };
  };

  it("hands them to its handler in their types, and answers what it returns in the envelope", async () => {
    const answer = await put("/things/a%2F1?dry=true", '{"name":"b","count":9,"share":0.5,"open":null,"parts":["c"]}');
    expect(answer).to.deep.equal({ status: 200, message: "made", data: { id: "a/1", dry: true, name: "b" } });
  });

  const refusals: [string, string, object][] = [
    ["/things/long", '{"name":"b"}', { code: "bad_id", path: "id", message: "At most 3 characters" }],
    ["/things/a?dry=1", '{"name":"b"}', { code: "bad_flag", path: "dry", message: "dry must be true or false" }],
    ["/things/a", "[]", { code: "not_an_object", path: "", message: "The body must be a JSON object" }],
    ["/things/a", "{}", { code: "required", path: "name", message: "name is required" }],
    ["/things/a", '{"name":null}', { code: "required", path: "name", message: "name is required" }],
    ["/things/a", '{"name":""}', { code: "bad_value", path: "name", message: "A string is expected. A name." }],
    ["/things/a", '{"name":1}', { code: "bad_type", path: "name", message: "A string is expected. A name." }],
    [
      "/things/a",
      '{"name":"b","count":1.5}',
      { code: "bad_type", path: "count", message: "A whole number is expected. At most 9." },
    ],
    [
      "/things/a",
      '{"name":"b","count":10}',
      { code: "bad_value", path: "count", message: "A whole number is expected. At most 9." },
    ],
    [
      "/things/a",
      '{"name":"b","open":"true"}',
      { code: "bad_type", path: "open", message: "True or false is expected. Open or not." },
    ],
    [
      "/things/a",
      '{"name":"b","parts":["c",1]}',
      { code: "bad_type", path: "parts", message: "A list is expected. Texts." },
    ],
    [
      "/things/a",
      '{"name":"b","cuont":1}',
      {
        code: "unknown_field",
        path: "",
        message: "Unknown field; the nearest known one is count",
      },
    ],
  ];
  for (const [target, body, error] of refusals) {
    it(`refuses ${body} sent to ${target} with ${JSON.stringify(error)}`, async () => {
      const answer = await put(target, body);
      expect([answer.status, answer.errors]).to.deep.equal([400, [error]]);
    });
  }
});

describe("a small body of JSON", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  const put = (body: string | Buffer, headers: Record<string, string>) =>
    service.fetch("/api/segment/a", { method: "PUT", body, headers });

  const json = { "content-type": "application/json" };
  const heads: [Record<string, string>, boolean][] = [
    [{ "content-type": "application/json;" }, false],
    [{ "content-type": 'Application/JSON ; charset="UTF-8"' }, false],
    [{ "content-type": "application/json; a" }, false],
    [{ ...json, "content-encoding": "Identity" }, false],
    [{ ...json, "content-encoding": "GZIP" }, true],
    [{ ...json, "content-encoding": "x-gzip" }, true],
  ];
  for (const [headers, isGzip] of heads) {
    it(`is taken with the headers ${JSON.stringify(headers)}`, async () => {
      const body = JSON.stringify({ name: "Grüße \ufffd" });
      const response = await put(isGzip ? gzipSync(body) : body, headers);
      const text = await response.text();
      expect(response.status, text).to.equal(200);
      expect(JSON.parse(text).data.name).to.equal("Grüße \ufffd");
    });
  }

  const refused: [string, string | Buffer, Record<string, string>, number, string][] = [
    ["is larger than 1 MiB", Buffer.alloc(1024 * 1024 + 1, 32), json, 413, "The body is larger than 1048576 bytes"],
    ["is 20 MiB, and is read to its end", Buffer.alloc(20 * 1024 * 1024, 32), json, 413, "The body is larger"],
    [
      "inflates to more than 1 MiB",
      gzipSync(Buffer.alloc(8_000_000, 32)),
      { ...json, "content-encoding": "gzip" },
      413,
      "The body is larger",
    ],
    ["is not UTF-8", Buffer.from('{"name":"\xff"}', "latin1"), json, 400, "The body is not valid UTF-8"],
    ["is nested 17 deep", `${'{"name":'.repeat(17)}1${"}".repeat(17)}`, json, 400, "nested more than 16 deep"],
    ["is empty", "", json, 400, "The body is not JSON"],
  ];
  for (const [what, body, headers, status, message] of refused) {
    it(`is refused when it ${what}`, async () => {
      const response = await put(body, headers);
      const answer = (await response.json()) as { message: string };
      expect(response.status).to.equal(status);
      expect(answer.message).to.contain(message);
      expect((await put('{"name":"b"}', json)).status, "the next request").to.equal(200);
    });
  }
});
