import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { documentOf, examplesOf, type OpenApi, operationsOf, type Part, schemasOf } from "../support/openapi-walk.js";
import { serviceOfSuite } from "../support/service.js";

const most = { batch_series: 3, batch_points: 5 };

describe("the request bodies in the OpenAPI document", () => {
  let document: OpenApi;
  /** The same without references. */
  let plain: OpenApi;

  const service = serviceOfSuite({ limits: most });
  before(async () => {
    ({ document, plain } = await documentOf(service));
    await service.fetch("/api/segment/s", { method: "PUT", json: {} });
  });

  const contents = (type: string) =>
    operationsOf(plain).flatMap(({ path, method, operation }) => {
      const content = operation.requestBody?.content[type];
      return content === undefined ? [] : [{ name: `${method} ${path}`, content }];
    });
  const bodyOf = (method: string, path: string) =>
    plain.paths[path]?.[method]?.requestBody?.content["application/json"]?.schema as Part;
  const itemOf = (path: string) => bodyOf("post", path).items as Part;
  const propertiesOf = (schema: Part) => schema.properties as Record<string, Part>;

  it("are not choices between schemas, which generators of clients do not support", () => {
    const choices = contents("application/json").filter(({ content }) => content.schema.type === undefined);
    expect(choices.map(({ name }) => name)).to.deep.equal([]);
  });

  it("have no value of two types besides null, which Python clients refuse, except the segments of a message", () => {
    const choices = schemasOf(document).filter(
      ({ schema: { type, oneOf, anyOf } }) =>
        oneOf !== undefined ||
        anyOf !== undefined ||
        (Array.isArray(type) && type.filter((one) => one !== "null").length > 1),
    );
    expect(choices.map(({ at }) => at)).to.deep.equal(["components.MessageInput.segments"]);
  });

  it("have no schema with a name that clients use for something else", () => {
    const names = Object.keys(document.components.schemas).map((name) => name.toLowerCase());
    for (const name of ["error", "message"]) expect(names).to.not.include(name);
  });

  it("have examples that match their schemas", () => {
    const bodies = contents("application/json");
    expect(bodies).to.have.length.above(5);
    for (const { name, content } of bodies) {
      const matches = new Ajv2020({ strict: false, validateFormats: false }).compile(content.schema);
      for (const [, value] of examplesOf(content)) {
        expect(matches(value), `${name}: ${JSON.stringify(matches.errors)}`).to.equal(true);
      }
    }
  });

  it("allow null for each optional field, and for no other", () => {
    const objects = contents("application/json").map(({ name, content: { schema } }) => ({
      name,
      schema: (schema.items ?? schema) as Part,
    }));
    for (const { name, schema } of objects) {
      const { required = [], properties } = schema as { required?: string[]; properties: Record<string, Part> };
      for (const [field, { type, oneOf }] of Object.entries(properties)) {
        const types = oneOf === undefined ? [type].flat() : (oneOf as Part[]).flatMap((one) => one.type);
        const takesNull = types.includes("null") || types.includes(undefined);
        expect(takesNull, `${name}: ${field}`).to.equal(!required.includes(field));
      }
    }
  });

  const nulls: [string, string, string, string, object][] = [
    ["put", "/api/segment/{id}", "PUT", "/api/segment/s1", {}],
    ["put", "/api/experience/{id}", "PUT", "/api/experience/e1", { audience: "s", goal: "s" }],
    ["post", "/api/metric", "POST", "/api/metric", { dimension: "segment", dimension_id: "a", dimension_type: "size" }],
    ["post", "/collect/json/{stream}", "POST", "/collect/json/web", { _uid: "a" }],
    ["post", "/api/deletion", "POST", "/api/deletion", { field: "_uid", value: "a" }],
  ];
  for (const [described, path, method, target, required] of nulls) {
    it(`are accepted by ${method} ${path} with null in every field for which they allow it`, async () => {
      const body = bodyOf(described, path);
      const fields = Object.keys(propertiesOf((body.items ?? body) as Part)).filter((name) => !(name in required));
      const object = { ...required, ...Object.fromEntries(fields.map((name) => [name, null])) };
      const json = body.items === undefined ? object : [object];
      const response = await service.fetch(target, { method, json });
      expect(response.status, await response.text()).to.equal(200);
    });
  }

  const point = { dimension: "segment", dimension_id: "a", dimension_type: "size", value: 1, ts: Date.now() };
  const series = { dimension: "segment", dimension_id: "a", dimension_type: "size" };
  const post = (path: string, json: unknown, headers = {}) => service.fetch(path, { method: "POST", json, headers });
  const bounds: [string, () => unknown, (size: number) => Promise<Response>][] = [
    [
      "series of a batch",
      () => bodyOf("post", "/api/metric").maxItems,
      (size) => post("/api/metric", Array(size).fill(series)),
    ],
    [
      "characters of a requested id",
      () => propertiesOf(itemOf("/api/metric")).dimension_id?.maxLength,
      (size) => post("/api/metric", [{ ...series, dimension_id: "é".repeat(size) }]),
    ],
    [
      "characters of a name",
      () => propertiesOf(itemOf("/api/metric")).name?.maxLength,
      (size) => post("/api/metric", [{ ...series, name: "é".repeat(size) }]),
    ],
    [
      "points of a write",
      () => bodyOf("post", "/api/metric/points").maxItems,
      (size) => post("/api/metric/points", Array(size).fill(point)),
    ],
    [
      "items of a request for deletions",
      () => bodyOf("post", "/api/deletion").maxItems,
      (size) => post("/api/deletion", Array(size).fill({ field: "_uid", value: "a" })),
    ],
    [
      "characters of a written id",
      () => propertiesOf(itemOf("/api/metric/points")).dimension_id?.maxLength,
      (size) => post("/api/metric/points", [{ ...point, dimension_id: "é".repeat(size) }]),
    ],
    [
      "segments of a message",
      () => segmentLists()[0]?.maxItems,
      (size) => post("/collect/json/web", [{ _uid: "a", segments: Array(size).fill("s") }]).then(refusedIfRejected),
    ],
    [
      "segments that a message adds",
      () => propertiesOf(segmentLists()[1] as Part).add?.maxItems,
      (size) =>
        post("/collect/json/web", [{ _uid: "a", segments: { add: Array(size).fill("s"), remove: [] } }]).then(
          refusedIfRejected,
        ),
    ],
    [
      "characters of an Idempotency-Key",
      () => parameterOf("/collect/json/{stream}", "Idempotency-Key")?.maxLength,
      (size) => post("/collect/json/web", [{ _uid: "a" }], { "idempotency-key": "k".repeat(size) }),
    ],
  ];
  for (const [what, bound, ask] of bounds) {
    it(`state the maximum of ${what}: as many are accepted, and one more is refused`, async () => {
      const size = bound() as number;
      expect(size).to.be.a("number");
      expect((await ask(size)).status).to.equal(200);
      expect((await ask(size + 1)).status).to.be.oneOf([400, 413]);
    });
  }

  it("allow points from the first accepted instant on", async () => {
    const { minimum } = propertiesOf(itemOf("/api/metric/points")).ts as { minimum: number };
    expect((await post("/api/metric/points", [{ ...point, ts: minimum }])).status).to.equal(200);
    expect((await post("/api/metric/points", [{ ...point, ts: minimum - 1 }])).status).to.equal(400);
  });

  const segmentLists = () => propertiesOf(itemOf("/collect/json/{stream}")).segments?.oneOf as Part[];
  const parameterOf = (path: string, name: string) =>
    plain.paths[path]?.post?.parameters.find((one) => one.name === name)?.schema;
});

/** A message of an array that is rejected makes no error of the request: it is counted. */
async function refusedIfRejected(response: Response): Promise<Response> {
  const { data } = (await response.clone().json()) as { data: { rejected_count: number } | null };
  return data === null || data.rejected_count === 0 ? response : new Response(null, { status: 400 });
}
