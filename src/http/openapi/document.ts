import type { Api, Route } from "../api-router.js";
import { statusOf } from "../error-response.js";
import { errorSchema } from "../schemas/envelope.js";
import { catalogueOperations } from "./catalogue.js";
import { entityOperations } from "./entities.js";
import { metricOperations } from "./metrics.js";
import type { Operation, Operations, Parameter } from "./operation.js";
import { operationsOperations } from "./operations.js";

const documented: Operations = {
  ...metricOperations,
  ...entityOperations,
  ...catalogueOperations,
  ...operationsOperations,
};

/** The OpenAPI 3.1 document of these routes. A route that nobody has described is there too, with what it says itself. */
export function openApiDocument(api: Api, version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of api.routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationObject(route, documented[`${route.method} ${route.path}`]);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "entity-metrics",
      version,
      description: "Profiles with their segments, their erasure for good, and time series about them.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    tags: ["metrics", "entities", "deletion", "collecting", "catalogue", "operations"].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        key: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description: "`em_<id>_<secret>`, alone or after `Bearer` or `Token`.",
        },
      },
      schemas: { Error: errorSchema },
      responses: Object.fromEntries([...errorStatuses].map((status) => [responseName(status), errorObject(status)])),
    },
  };
}

/** Routes that are described but not served: none, or a description has outlived its route. */
export function staleDescriptions(api: Api): string[] {
  const served = new Set(api.routes.map(({ method, path }) => `${method} ${path}`));
  return Object.keys(documented).filter((name) => !served.has(name));
}

function operationObject(route: Route, operation: Operation | undefined): object {
  const { access } = route;
  const keyless = access === "keyless";
  const { tag = "operations", summary = `${route.method} ${route.path}`, description, body, answer } = operation ?? {};
  const success = answer === undefined && operation !== undefined ? 204 : 200;
  const about = keyless ? description : [description, `Scope: ${access.join(" or ")}.`].filter(Boolean).join("\n\n");
  const errors = [...(keyless ? [400, 404, 405] : forCallers(body !== undefined)), ...(operation?.errors ?? [])];
  return {
    operationId: operationId(route),
    tags: [tag],
    summary,
    ...(about === undefined ? {} : { description: about }),
    ...(keyless ? { security: [] } : {}),
    parameters: [
      ...pathNames(route).map((name) => parameterObject(name, "path", operation?.path?.[name])),
      ...Object.entries(operation?.query ?? {}).map(([name, query]) => parameterObject(name, "query", query)),
      ...Object.entries(operation?.headers ?? {}).map(([name, header]) => parameterObject(name, "header", header)),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      [success]: { description: "Done.", ...(answer === undefined ? {} : { content: contentOf(answer) }) },
      ...Object.fromEntries(
        [...new Set(errors)]
          .sort()
          .map((status) => [status, { $ref: `#/components/responses/${responseName(status)}` }]),
      ),
      ...Object.fromEntries(
        Object.entries(operation?.others ?? {}).map(([status, { description, schema }]) => [
          status,
          { description, ...(schema === undefined ? {} : { content: contentOf({ "application/json": schema }) }) },
        ]),
      ),
    },
  };
}

/** What any route that takes a key can answer. */
function forCallers(withBody: boolean): number[] {
  return [400, 401, 403, 404, 405, 414, 429, 431, 500, 503, ...(withBody ? [408, 413, 415, 507] : [])];
}

function operationId({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return [method.toLowerCase(), ...(words.length > 0 ? words : ["home"])].join("_");
}

function pathNames({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
}

function parameterObject(name: string, place: string, parameter: Parameter | undefined): object {
  const { schema = { type: "string" }, description, required = place === "path" } = parameter ?? {};
  return { name, in: place, required, ...(description === undefined ? {} : { description }), schema };
}

function contentOf(schemas: Readonly<Record<string, object>>): object {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]));
}

const errorStatuses: ReadonlySet<number> = new Set(Object.values(statusOf));

function responseName(status: number): string {
  return `Error${status}`;
}

const retried = { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } };

function errorObject(status: number): object {
  const [kind] = Object.entries(statusOf).find(([, value]) => value === status) ?? ["error"];
  const words = kind.replaceAll("-", " ");
  return {
    description: `${words[0]?.toUpperCase()}${words.slice(1)}.`,
    ...(status === 429 || status === 503 ? { headers: retried } : {}),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}
