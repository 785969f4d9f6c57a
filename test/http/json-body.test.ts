import { Type } from "@sinclair/typebox";
import { expect } from "chai";
import { success } from "../../src/http/core/responses.js";
import { route } from "../../src/http/core/route.js";
import { serveRoutes } from "../support/routes-alone.js";

/** A route with a field of each type. */
const things = route({
  method: "PUT",
  path: "/things/:id",
  scopes: ["admin"],
  docs: { id: "putThing", tag: "catalogue", summary: "Make a thing" },
  params: { id: Type.String({ maxLength: 3, issue: { code: "invalid_id", message: "At most 3 characters" } }) },
  query: { dry: Type.Boolean({ default: false }) },
  body: {
    schema: Type.Object(
      {
        name: Type.String({
          minLength: 1,
          description: "A name.",
          issue: { code: "invalid_name", message: "name is empty" },
        }),
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
    ["/things/long", '{"name":"b"}', { code: "invalid_id", path: "id", message: "At most 3 characters" }],
    ["/things/a?dry=1", '{"name":"b"}', { code: "invalid_flag", path: "dry", message: "dry must be true or false" }],
    ["/things/a", "[]", { code: "not_an_object", path: "", message: "The body must be a JSON object" }],
    ["/things/a", "{}", { code: "required", path: "name", message: "name is required" }],
    ["/things/a", '{"name":null}', { code: "required", path: "name", message: "name is required" }],
    ["/things/a", '{"name":""}', { code: "invalid_name", path: "name", message: "name is empty" }],
    ["/things/a", '{"name":1}', { code: "invalid_type", path: "name", message: "name must be string" }],
    [
      "/things/a",
      '{"name":"b","count":1.5}',
      { code: "invalid_type", path: "count", message: "count must be integer" },
    ],
    ["/things/a", '{"name":"b","count":10}', { code: "invalid_value", path: "count", message: "count must be <= 9" }],
    [
      "/things/a",
      '{"name":"b","open":"true"}',
      { code: "invalid_type", path: "open", message: "open must be boolean" },
    ],
    [
      "/things/a",
      '{"name":"b","parts":["c",1]}',
      { code: "invalid_type", path: "parts", message: "A value in parts must be string" },
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
