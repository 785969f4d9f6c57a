import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "chai";
import {
  documentOf,
  type OpenApi,
  operationsOf,
  type Parameter,
  type Part,
  schemasOf,
  targetOf,
} from "../support/openapi-walk.js";
import { serviceOfSuite } from "../support/service.js";

describe("the OpenAPI document", () => {
  let document: OpenApi;
  /** The same without references. */
  let plain: OpenApi;

  const service = serviceOfSuite();
  before(async () => {
    ({ document, plain } = await documentOf(service));
  });

  const operations = () => operationsOf(document);

  it("is valid OpenAPI 3.1", async () => {
    expect(document.openapi).to.match(/^3\.1\./);
    const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
    expect(errors ?? [], JSON.stringify(errors)).to.deep.equal([]);
    expect(valid).to.equal(true);
  });

  it("contains exactly the routes of the service", () => {
    const described = operations().map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`);
    const served = service.service.routes.map(({ method, path }) => `${method} ${path}`);
    expect(described.sort()).to.deep.equal(served.sort());
  });

  it("describes each route with a summary, a body if it reads one, and the parameters of its path", () => {
    const ids = new Set<string>();
    for (const { path, method, operation } of operations()) {
      const name = `${method} ${path}`;
      expect(operation.summary.split(" "), name).to.have.length.within(2, 8);
      expect(operation.description, name).to.be.a("string").that.is.not.equal("");
      ids.add(operation.operationId);
      const isRead = (method === "POST" || method === "PUT") && !/\}\/retry|\/sign-in\b/.test(path);
      expect(operation.requestBody !== undefined, name).to.equal(isRead);
      const inPath = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
      expect(inPath, name).to.deep.equal([...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter));
    }
    expect(ids.size).to.equal(operations().length);
  });

  it("describes the notifications of a webhook, with examples that match their schemas", () => {
    expect(Object.keys(plain.webhooks)).to.deep.equal(["notifyCompletion", "notifyAlert", "notifyHook"]);
    for (const [name, { post }] of Object.entries(plain.webhooks)) {
      const { schema = {}, example } = post.requestBody?.content["application/json"] ?? {};
      expect(compiled(schema)(example), name).to.equal(true);
      expect(example).to.have.all.keys((schema as unknown as { required: string[] }).required);
      expect(post.security).to.deep.equal([{ [name]: [] }]);
      expect(post.responses).to.have.all.keys("2XX", "default");
      expect(post).to.have.property("x-internal", true);
    }
  });

  it("marks older names of parameters as deprecated, and lists them after all others", () => {
    const deprecated = new Set<string>();
    for (const { path, method, operation } of operations()) {
      const marks = operation.parameters.map(({ deprecated = false }) => Number(deprecated));
      expect(marks, `${method} ${path}`).to.deep.equal([...marks].sort());
      for (const { name } of operation.parameters.filter((parameter) => parameter.deprecated)) deprecated.add(name);
    }
    expect([...deprecated].sort()).to.include.members(["account_id", "end_date", "keyspace", "metric", "start_date"]);
  });

  it("describes exactly the query parameters that a route accepts", () => {
    for (const { path, method, operation } of operations()) {
      const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
      const route = service.service.routes.find((one) => one.method === method && one.path === pattern);
      const named = operation.parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name);
      expect(named.sort(), `${method} ${path}`).to.deep.equal(Object.keys(route?.query ?? {}).sort());
    }
  });

  it("describes 405 for each path, a 304 without content, and the content types of line protocol except forms", () => {
    for (const { path, operation } of operations()) expect(operation.responses, path).to.have.property("405");
    expect(document.paths["/api/metric"]?.get?.responses["304"]).to.not.have.property("content");
    expect(document.paths["/api/entity/deletestatus/{request_id}"]).to.have.property("get");
    expect(Object.keys(document.paths["/api/v2/write"]?.post?.requestBody?.content ?? {})).to.deep.equal([
      "text/plain",
      "application/octet-stream",
    ]);
  });

  it("contains an example of each error response with its status and code", () => {
    const errors = Object.entries(plain.components.responses);
    expect(errors).to.have.length.above(10);
    for (const [name, { content }] of errors) {
      const { schema, example } = content["application/json"] ?? { schema: {} };
      expect(compiled(schema)(example), name).to.equal(true);
      expect(`Error${(example as { status: number }).status}`).to.equal(name);
    }
    const { example } = document.components.responses.Error401?.content["application/json"] ?? {};
    expect(example).to.have.nested.property("errors[0].code", "unauthenticated");
  });

  const rules: [string, (schema: Part, at: string) => boolean][] = [
    ["names the items of an array", ({ type, items }) => ![type].flat().includes("array") || items !== undefined],
    ["has no pattern that only some languages support", ({ pattern }) => !String(pattern).includes("\\p{")],
    ["never has null as the only type", ({ type }) => JSON.stringify([type].flat()) !== '["null"]'],
    [
      "names the type of a constant value",
      ({ const: fixed, enum: values, type }) => (fixed === undefined && values === undefined) || type !== undefined,
    ],
    [
      "has no constant boolean or null, which clients of Python and TypeScript compare with a string",
      ({ const: fixed }) => typeof fixed !== "boolean" && fixed !== null,
    ],
    [
      "names each object with properties, except for a webhook",
      ({ properties }, at) => properties === undefined || /^(components\.\w+$|webhooks\.)/.test(at),
    ],
    [
      "names the format of a number that may exceed 32 bits",
      ({ type, format, maximum, const: fixed }) =>
        ([type].flat().includes("number") && format === "double") ||
        ([type].flat().includes("integer") && (format === "int64" || maximum !== undefined || fixed !== undefined)) ||
        ![type].flat().some((name) => name === "number" || name === "integer"),
    ],
    [
      "describes further properties by a schema, or forbids them",
      ({ additionalProperties }) => additionalProperties !== true,
    ],
    [
      "has angle brackets only between backticks, as pages read them as HTML otherwise",
      ({ description = "" }) =>
        !String(description)
          .replaceAll(/`[^`]*`/g, "")
          .includes("<"),
    ],
    ["refers to existing parts", ({ $ref }) => $ref === undefined || targetOf(document, String($ref)) !== undefined],
  ];
  for (const [rule, holds] of rules) {
    it(`${rule}, in every schema`, () => {
      const schemas = schemasOf(document);
      expect(schemas).to.have.length.above(200);
      expect(schemas.filter(({ schema, at }) => !holds(schema, at)).map(({ at }) => at)).to.deep.equal([]);
    });
  }

  it("names only schemas that a route uses, as generators for Go leave out others", () => {
    const used = new Set<string>();
    const follow = (part: unknown) => {
      for (const [, reference = ""] of JSON.stringify(part).matchAll(/"\$ref":"([^"]+)"/g)) {
        if (used.has(reference)) continue;
        used.add(reference);
        follow(targetOf(document, reference));
      }
    };
    follow(document.paths);
    const names = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(names.filter((name) => !used.has(name))).to.deep.equal([]);
  });

  it("names the JSON schema of every response", () => {
    for (const { path, operation } of operations()) {
      if (path === "/openapi.json") continue;
      for (const { content } of Object.values(operation.responses)) {
        const schema = content?.["application/json"]?.schema;
        if (schema !== undefined) expect(schema, path).to.have.property("$ref");
      }
    }
  });

  it("describes responses that are neither JSON nor text as binary, which Python clients need", () => {
    const others = operations().flatMap(({ path, operation }) =>
      Object.values(operation.responses).flatMap(({ content = {} }) =>
        Object.entries(content).flatMap(([type, { schema }]) =>
          /^(?:application\/json|text\/.*)$/.test(type) ? [] : [[`${path} ${type}`, (schema as Part).format]],
        ),
      ),
    );
    expect(others).to.have.length.above(2);
    expect(others.filter(([, format]) => format !== "binary")).to.deep.equal([]);
  });

  it("has no value in two named enumerations, as these are constants of one name in Go", () => {
    const values = schemasOf(document)
      .filter(({ at, schema }) => /^components\.\w+$/.test(at) && schema.enum !== undefined)
      .flatMap(({ schema }) => schema.enum as unknown[]);
    expect(values).to.have.length.above(0);
    expect(new Set(values).size).to.equal(values.length);
  });

  it("has operation ids of several words", () => {
    for (const { operation } of operations()) {
      expect(operation.operationId).to.match(/^[a-z]+(?:[A-Z][a-z]+)+$/);
    }
    expect(document.paths["/api/metric"]?.post?.operationId).to.equal("fetchMetrics");
  });

  it("describes refused items only in the response to a batch", () => {
    const answerTo = (method: string) =>
      JSON.stringify(plain.paths["/api/metric"]?.[method]?.responses["200"]?.content);
    expect(answerTo("get")).to.not.include('"errors"');
    expect(answerTo("post")).to.include('"errors"');
  });

  it("states the default and maximum limit of each list, which the service obeys", async () => {
    const lists = operations().filter(({ operation }) => operation.parameters.some(({ name }) => name === "limit"));
    expect(lists).to.have.length.above(3);
    for (const { path, operation } of lists) {
      const { schema } = operation.parameters.find(({ name }) => name === "limit") as Parameter;
      const { default: usual, maximum } = schema as { default: number; maximum: number };
      expect(usual, path).to.be.within(1, maximum);
      const target = path.replaceAll(/\{\w+\}/g, "x");
      // A list of an unknown entity is 404, but its limit is valid.
      const taken = target === path ? [200] : [200, 404];
      expect((await service.fetch(`${target}?limit=${maximum}`)).status, path).to.be.oneOf(taken);
      expect((await service.fetch(`${target}?limit=${maximum + 1}`)).status, path).to.equal(400);
    }
  });

  it("states the maximum number of messages, and that ids are not empty", () => {
    const messages = document.paths["/collect/json/{stream}"]?.post?.requestBody?.content["application/json"];
    expect(messages?.schema).to.include({ maxItems: 10_000 });
    const [ids] = document.paths["/api/segment/sizes"]?.get?.parameters ?? [];
    expect(ids?.schema).to.include({ minLength: 1 });
  });

  it("describes without a pattern that names and ids contain no control characters, which are refused", async () => {
    const words = schemasOf(plain).filter(
      ({ at, schema: { maxLength, description = "" } }) =>
        /^components\.(ExperienceInput|SegmentInput|SegmentChange|MessageInput|Point)\b/.test(at) &&
        maxLength === 256 &&
        !/without control characters|No control characters/.test(String(description)),
    );
    expect(words.map(({ at }) => at)).to.deep.equal([]);
    for (const name of ["a\nb", "a\u0085b"]) {
      expect((await service.fetch("/api/segment/s1", { method: "PUT", json: { name } })).status).to.equal(400);
      expect(
        (await service.fetch(`/api/segment/${encodeURIComponent(name)}`, { method: "PUT", json: {} })).status,
      ).to.equal(400);
    }
  });
});

function compiled(schema: object): ValidateFunction {
  return new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
}
