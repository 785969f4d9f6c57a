import type { Api, Route } from "../api-router.js";
import { statusOf } from "../error-response.js";
import { errorSchema } from "../schemas/envelope.js";
import { catalogueOperations } from "./catalogue.js";
import { Components } from "./components.js";
import { entityOperations } from "./entities.js";
import { metricOperations } from "./metrics.js";
import { type Body, json, type Operation, type Operations, type Parameter, type Tag } from "./operation.js";
import { operationsOperations } from "./operations.js";

/** In the order in which pages list them: reading comes before writing. */
const tags: readonly Tag[] = ["metrics", "entities", "catalogue", "collecting", "deletion", "operations"];

/**
 * The OpenAPI 3.1 document of these routes. A route without a description is there too, with what it says itself. Examples
 * that need a time are of the hour that begins at `hour` (Unix ms).
 */
export function openApiDocument(api: Api, version: string, hour: number): object {
  const documented = operationsAt(hour);
  const components = new Components();
  const paths: Record<string, Record<string, object>> = {};
  for (const route of api.routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationObject(
      route,
      documented[`${route.method} ${route.path}`],
      components,
    );
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
    tags: tags.map((name) => ({ name })),
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
      schemas: components.schemas,
      responses: Object.fromEntries(
        [...errorStatuses].map((status) => [responseName(status), errorObject(status, components)]),
      ),
    },
  };
}

/** Routes that are described but not served: none, or a description has outlived its route. */
export function staleDescriptions(api: Api): string[] {
  const served = new Set(api.routes.map(({ method, path }) => `${method} ${path}`));
  return Object.keys(operationsAt(0)).filter((name) => !served.has(name));
}

function operationsAt(hour: number): Operations {
  return { ...metricOperations(hour), ...entityOperations, ...catalogueOperations, ...operationsOperations };
}

function operationObject(route: Route, operation: Operation | undefined, components: Components): object {
  const parameter =
    (place: string) =>
    ([name, parameter]: [string, Parameter | undefined]) =>
      parameterObject(name, place, parameter, components);
  const { access } = route;
  const keyless = access === "keyless";
  const { tag = "operations", summary = `${route.method} ${route.path}`, description, body, answer } = operation ?? {};
  const success = answer === undefined && operation !== undefined ? 204 : 200;
  const about = keyless ? description : [description, `Scope: ${access.join(" or ")}.`].filter(Boolean).join("\n\n");
  const errors = [...(keyless ? [400, 404, 405] : forCallers(body !== undefined)), ...(operation?.errors ?? [])];
  return {
    operationId: operation?.id ?? `${route.method} ${route.path}`,
    tags: [tag],
    summary,
    ...(about === undefined ? {} : { description: about }),
    ...(keyless ? { security: [] } : {}),
    parameters: [
      ...pathNames(route).map((name) => parameter("path")([name, operation?.path?.[name]])),
      ...Object.entries(operation?.query ?? {}).map(parameter("query")),
      ...Object.entries(operation?.headers ?? {}).map(parameter("header")),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: bodyContent(body, components) } }),
    responses: {
      [success]: { description: "Done.", ...(answer === undefined ? {} : { content: contentOf(answer, components) }) },
      ...Object.fromEntries(
        [...new Set(errors)]
          .sort()
          .map((status) => [status, { $ref: `#/components/responses/${responseName(status)}` }]),
      ),
      ...Object.fromEntries(
        Object.entries(operation?.others ?? {}).map(([status, { description, schema }]) => [
          status,
          {
            description,
            ...(schema === undefined ? {} : { content: contentOf(json(schema), components) }),
          },
        ]),
      ),
    },
  };
}

/** What any route that takes a key can answer. */
function forCallers(withBody: boolean): number[] {
  return [400, 401, 403, 404, 405, 414, 429, 431, 500, 503, ...(withBody ? [408, 413, 415, 507] : [])];
}

function pathNames({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
}

function parameterObject(
  name: string,
  place: string,
  parameter: Parameter | undefined,
  components: Components,
): object {
  const { schema = { type: "string" }, required = place === "path", ...more } = parameter ?? {};
  return { name, in: place, required, ...more, schema: components.add(schema) };
}

function bodyContent(bodies: Readonly<Record<string, Body>>, components: Components): object {
  return Object.fromEntries(
    Object.entries(bodies).map(([type, { schema, examples }]) => [
      type,
      { schema: components.add(schema), ...examplesOf(examples) },
    ]),
  );
}

/** A single example has no name: Swagger UI looks for the name that was chosen for another media type. */
function examplesOf(examples: Body["examples"]): object {
  const entries = Object.entries(examples);
  if (entries.length === 1) return { example: entries[0]?.[1] };
  return { examples: Object.fromEntries(entries.map(([name, value]) => [name, { value }])) };
}

function contentOf(schemas: Readonly<Record<string, object>>, components: Components): object {
  return Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [type, { schema: components.add(schema) }]),
  );
}

const errorStatuses: ReadonlySet<number> = new Set(Object.values(statusOf));

function responseName(status: number): string {
  return `Error${status}`;
}

const seconds = { type: "integer", minimum: 0 };

function errorObject(status: number, components: Components): object {
  const [kind] = Object.entries(statusOf).find(([, value]) => value === status) ?? ["error"];
  const words = kind.replaceAll("-", " ");
  return {
    description: `${words[0]?.toUpperCase()}${words.slice(1)}.`,
    ...(status === 429 || status === 503
      ? { headers: { "Retry-After": { description: "Seconds.", schema: components.add(seconds) } } }
      : {}),
    content: contentOf(json(errorSchema), components),
  };
}
