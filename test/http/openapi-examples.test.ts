import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { documentOf, examplesOf, type Operation, operationsOf } from "../support/openapi-walk.js";
import { removeThrough } from "../support/requests.js";
import { startService, type TestService } from "../support/service.js";

interface Request {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  /** Schema of its answer as JSON, where the document has one. */
  readonly answer: object | undefined;
  readonly type?: string;
  readonly body?: string;
}

/** Order of the methods: writes come before reads, deletions last. */
const order = ["PUT", "POST", "GET", "DELETE"];

describe("the examples in the OpenAPI document", () => {
  for (const [retention, settings] of [
    ["forever", {}],
    ["for a day", { metrics: { retention: "1d" } }],
  ] as const) {
    it(`succeed unchanged with the responses that it describes if points are kept ${retention}`, async () => {
      const service = await startService(settings);
      const requests = await requestsOf(service);
      const [first] = requests.filter(({ path }) => path.startsWith("/collect/"));
      for (const request of [first as Request, ...requests]) await expectSuccess(service, request);
    });
  }
});

/** A request for each example of each operation, and one for each operation without a body. */
async function requestsOf(service: TestService): Promise<Request[]> {
  const { plain } = await documentOf(service);
  const requests = operationsOf(plain).flatMap(({ method, path, operation }) => requestsTo(method, path, operation));
  return requests.sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method));
}

function requestsTo(method: string, path: string, { parameters, requestBody, responses }: Operation): Request[] {
  const target = parameters.reduce(
    (target, { name, in: place, example }) =>
      place === "path" ? target.replace(`{${name}}`, encodeURIComponent(example ?? `{${name}}`)) : target,
    path,
  );
  const query = new URLSearchParams(
    parameters.flatMap(({ name, in: place, example }): [string, string][] =>
      place === "query" && example !== undefined ? [[name, example]] : [],
    ),
  );
  const answer = responses["200"]?.content?.["application/json"]?.schema;
  const request = {
    title: `${method} ${path}`,
    method,
    path: `${target}${query.size === 0 ? "" : `?${query}`}`,
    answer,
  };
  if (requestBody === undefined) return [request];
  return Object.entries(requestBody.content).flatMap(([type, content]) => {
    const examples = examplesOf(content);
    expect(examples[0]?.[1], `${request.title} has an example of ${type}`).to.not.equal(undefined);
    return examples.map(([name, value]) => {
      const body = typeof value === "string" ? value : JSON.stringify(value);
      return { ...request, title: `${request.title}: ${type}, ${name}`, type, body };
    });
  });
}

async function expectSuccess(service: TestService, request: Request): Promise<void> {
  const { title, method, type, body } = request;
  const response = await service.fetch(await withRequestId(service, request.path), {
    method,
    ...(body === undefined ? {} : { body, headers: { "content-type": type as string } }),
  });
  const text = await response.text();
  // A deletion may be completed, or not yet.
  const success = /\/(retry|receipt)$/.test(title) ? [200, 409] : [200, 204];
  expect(response.status, `${title}: ${text.slice(0, 500)}`).to.be.oneOf(success);
  const isJson = /^application\/json/.test(response.headers.get("content-type") ?? "");
  if (request.answer !== undefined && response.status === 200 && isJson) {
    const matches = new Ajv2020({ strict: false, validateFormats: false }).compile(request.answer);
    expect(matches(JSON.parse(text)), `${title}: ${JSON.stringify(matches.errors)}`).to.equal(true);
  }
  if (title.startsWith("POST /collect/")) expect(JSON.parse(text).data.rejected_count, title).to.equal(0);
  if (title.startsWith("GET /api/metric")) expect(JSON.parse(text).data[0].values, title).to.have.length.above(0);
}

/** No example can name a deletion that was accepted: that is asked for here. */
async function withRequestId(service: TestService, path: string): Promise<string> {
  if (path.startsWith("/dashboard/sign-in/")) {
    return `/dashboard/sign-in/${service.service.signInCodes.issue(service.key)}`;
  }
  const place = encodeURIComponent("{request_id}");
  if (!path.includes(place)) return path;
  return path.replace(place, await removeThrough(service, "email/cy@example.com"));
}
