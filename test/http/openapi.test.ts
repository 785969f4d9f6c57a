import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "chai";
import { staleDescriptions } from "../../src/http/openapi/document.js";
import { startService, type TestService } from "../support/service.js";

interface OpenApi {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Described>>;
}

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: unknown[];
  readonly parameters: { name: string; in: string }[];
  readonly requestBody?: { content: Record<string, { schema: object }> };
  readonly responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

describe("the OpenAPI document", () => {
  let service: TestService;
  let document: OpenApi;

  before(async () => {
    service = await startService();
    const response = await service.fetch("/openapi.json", { key: null });
    document = (await response.json()) as OpenApi;
  });
  after(() => service.stop());

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );

  it("is valid OpenAPI 3.1", async () => {
    expect(document.openapi).to.match(/^3\.1\./);
    const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
    expect(errors ?? [], JSON.stringify(errors)).to.deep.equal([]);
    expect(valid).to.equal(true);
  });

  it("has every route, and none that is not served", () => {
    const described = operations().map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`);
    const served = service.service.api.routes.map(({ method, path }) => `${method} ${path}`);
    expect(described.sort()).to.deep.equal(served.sort());
    expect(staleDescriptions(service.service.api)).to.deep.equal([]);
  });

  it("describes each of them in words, with a body where one is read and parameters for its path", () => {
    const ids = new Set<string>();
    for (const { path, method, operation } of operations()) {
      const name = `${method} ${path}`;
      expect(operation.summary, name).to.not.equal(name);
      ids.add(operation.operationId);
      expect(operation.requestBody !== undefined, name).to.equal(method === "POST" || method === "PUT");
      const inPath = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
      expect(inPath, name).to.deep.equal([...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter));
    }
    expect(ids.size).to.equal(operations().length);
  });

  it("says which routes need no key", () => {
    const keyless = operations().filter(({ operation }) => operation.security?.length === 0);
    const routes = service.service.api.routes.filter(({ access }) => access === "keyless");
    expect(keyless).to.have.length(routes.length);
  });

  it("names a method that a path does not have, an answer that has not changed, and every type of line protocol", () => {
    for (const { path, operation } of operations()) expect(operation.responses, path).to.have.property("405");
    expect(document.paths["/api/metric"]?.get?.responses["304"]).to.not.have.property("content");
    expect(document.paths["/api/entity/deletestatus/{request_id}"]).to.have.property("get");
    expect(Object.keys(document.paths["/api/v2/write"]?.post?.requestBody?.content ?? {})).to.deep.equal([
      "text/plain",
      "application/octet-stream",
      "application/x-www-form-urlencoded",
    ]);
  });

  it("has schemas that compile", () => {
    for (const { operation } of operations()) {
      for (const { schema } of Object.values(operation.requestBody?.content ?? {})) compiled(schema);
      for (const { content } of Object.values(operation.responses)) {
        for (const { schema } of Object.values(content ?? {})) if (!("$ref" in (schema ?? {}))) compiled(schema ?? {});
      }
    }
  });

  const answers: [string, string, string, RequestInit & { json?: unknown }][] = [
    ["/health", "get", "/health", {}],
    ["/ready", "get", "/ready", {}],
    ["/api/metric", "get", "/api/metric?dimension=segment&dimension_id=a&dimension_type=size", {}],
    [
      "/api/metric",
      "post",
      "/api/metric",
      { json: [{ dimension: "segment", dimension_id: "a", dimension_type: "size" }] },
    ],
    ["/api/segment/{id}", "put", "/api/segment/s1", { json: { name: "One" } }],
    ["/api/segment", "get", "/api/segment?limit=1", {}],
    ["/api/segment/sizes", "get", "/api/segment/sizes", {}],
    ["/api/experience/{id}", "put", "/api/experience/e1", { json: { audience: "s1", goal: "s1" } }],
    ["/api/experience", "get", "/api/experience", {}],
    ["/collect/json/{stream}", "post", "/collect/json/web", { json: { email: "a@b.de", x: 1, segments: ["s1"] } }],
    ["/api/entity/{table}/{fieldname}/{fieldval}", "get", "/api/entity/user/email/a@b.de", {}],
    ["/api/entity/{table}/{fieldname}/{fieldval}", "get", "/api/entity/user/email/a@b.de?meta=false", {}],
    ["/api/me/{fieldname}/{fieldval}", "get", "/api/me/email/a@b.de", {}],
    ["/api/entity/{table}/{fieldname}/{fieldval}", "delete", "/api/entity/user/email/a@b.de", {}],
    ["/api/deletion", "get", "/api/deletion", {}],
  ];
  for (const [path, method, target, { json }] of answers) {
    it(`describes what ${method.toUpperCase()} ${target} answers`, async () => {
      const response = await service.fetch(target, {
        method: method.toUpperCase(),
        ...(json === undefined ? {} : { json }),
      });
      const text = await response.text();
      expect(response.status, text).to.equal(200);
      const schema = document.paths[path]?.[method]?.responses["200"]?.content?.["application/json"]?.schema;
      const validate = compiled(schema ?? { not: {} });
      expect(validate(JSON.parse(text)), JSON.stringify(validate.errors)).to.equal(true);
    });
  }
});

function compiled(schema: object): ValidateFunction {
  return new Ajv2020({ strict: false }).compile(schema);
}
