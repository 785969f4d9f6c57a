import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Type } from "@sinclair/typebox";
import helmet from "helmet";
import type { Tables } from "../../entities/profile/entity-tables.js";
import { found } from "../../errors.js";
import { dimensions } from "../../metrics/dimensions.js";
import { type KeptBody, keepBody, madeOnce, respondWithKept } from "../core/response-body.js";
import { done } from "../core/responses.js";
import { type ApiContext, type Route, route } from "../core/route.js";
import { fieldsByTable, shownDimensions } from "./page-data.js";
import { dashboardPage, docsPage, docsScript, docsStyle, homePage, pageStyle } from "./page-texts.js";

/** Routes of the pages and their files. Nothing is loaded from other servers. */
export function pageRoutes(tables: Tables): readonly Route[] {
  return [
    page("/", { id: "showHomePage", summary: "Show the home page" }, homePage, forHome),
    page("/docs", { id: "showDocsPage", summary: "Show the API reference" }, docsPage, forDocs),
    page(
      "/dashboard",
      { id: "showDashboard", summary: "Show the dashboard", unknownQuery: "unchecked" },
      dashboardPage({ tables: fieldsByTable(tables), dimensions: shownDimensions(dimensions) }),
      forDashboard,
    ),
    route({
      method: "GET",
      path: "/dashboard/:file",
      scopes: "keyless",
      docs: {
        id: "readDashboardFile",
        tag: "operations",
        summary: "Read a file of the dashboard",
        description: "Styles and scripts for browsers. Error 404: `not_found`.",
      },
      params: { file: Type.String({ minLength: 1, examples: ["dashboard.css"] }) },
      responses: { 200: done({ "text/css": Type.String(), "text/javascript": Type.String() }) },
      async handler({ ctx, params: { file } }) {
        await respondWithFile(ctx, dashboardFiles(), file);
      },
    }),
    route({
      method: "GET",
      path: "/docs/:file",
      scopes: "keyless",
      docs: {
        id: "readDocsFile",
        tag: "operations",
        summary: "Read a file of the pages",
        description: "Styles, scripts and images for browsers. Error 404: `not_found`.",
      },
      params: { file: Type.String({ minLength: 1, examples: ["docs.css"] }) },
      responses: {
        200: done({
          "text/css": Type.String(),
          "text/javascript": Type.String(),
          "image/png": Type.String({ format: "binary" }),
        }),
      },
      async handler({ ctx, params: { file } }) {
        await respondWithFile(ctx, docsFiles, file);
      },
    }),
  ];
}

const html = done({ "text/html": Type.String() });

type Protection = ReturnType<typeof helmet>;

/** Creates the route of a page; `text` may depend on the service's address. `unknownQuery` as in `Route`. */
function page(
  path: string,
  {
    id,
    summary,
    unknownQuery = "ignore",
  }: Pick<Route, "unknownQuery"> & { readonly id: string; readonly summary: string },
  text: string | ((address: string) => string),
  protect: Protection,
): Route {
  return route({
    method: "GET",
    path,
    scopes: "keyless",
    unknownQuery,
    docs: { id, summary, tag: "operations", description: "A page for browsers." },
    responses: { 200: html },
    handler({ ctx }) {
      protect(ctx.req, ctx.res, () => {});
      ctx.set({ "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache" });
      ctx.status = 200;
      ctx.body = typeof text === "string" ? text : text(addressOf(ctx));
    },
  });
}

/** Host names, IP addresses and ports, none with a special meaning in HTML or a shell. */
const PLAIN_HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/** Returns the address that the caller used; the connection's address when the request has no plain host. */
function addressOf({ host, secure, req: { socket } }: ApiContext): string {
  const { localAddress = "", localPort } = socket;
  const own = localAddress.includes(":") ? `[${localAddress}]` : localAddress;
  return `${secure ? "https" : "http"}://${PLAIN_HOST.test(host) ? host : `${own}:${localPort}`}`;
}

type Files = ReadonlyMap<string, () => Promise<KeptBody>>;

async function respondWithFile(ctx: ApiContext, files: Files, name: string): Promise<void> {
  const file = found(files.get(name), "file");
  respondWithKept(ctx, await file());
}

const noBaseNorForm = { baseUri: ["'none'"], formAction: ["'none'"] };

const forHome = protection({
  ...noBaseNorForm,
  styleSrc: [`'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'`],
});

/** Scripts and styles are local files; scripts set styles by the object model, which the policy allows. */
const forDashboard = protection({
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  connectSrc: ["'self'"],
  imgSrc: ["'self'", "blob:"],
});

/** Swagger UI sets styles on its elements and shows icons from data URLs. */
const forDocs = protection({
  ...noBaseNorForm,
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", "data:"],
  connectSrc: ["'self'"],
  fontSrc: ["'self'", "data:"],
});

/**
 * Allows a page to load only these sources. The service uses plain HTTP behind a TLS proxy, so HSTS and upgrades are
 * left to the proxy.
 */
function protection(allowed: Record<string, string[]>): Protection {
  const directives = { defaultSrc: ["'none'"], ...allowed, frameAncestors: ["'none'"] };
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    strictTransportSecurity: false,
    referrerPolicy: { policy: "no-referrer" },
  });
}

const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

const docsFiles: Files = new Map([
  ["docs.css", madeOnce(() => keepBody(STYLE, docsStyle))],
  ["docs.js", madeOnce(() => keepBody(SCRIPT, docsScript))],
  ["swagger-ui.css", ofPackage("swagger-ui-dist", "swagger-ui.css", STYLE)],
  ["swagger-ui-bundle.js", ofPackage("swagger-ui-dist", "swagger-ui-bundle.js", SCRIPT)],
  ["favicon-32x32.png", ofPackage("swagger-ui-dist", "favicon-32x32.png", "image/png")],
]);

/** Returns a file of a dependency, read on the first request. */
function ofPackage(name: string, file: string, type: string): () => Promise<KeptBody> {
  const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  return madeOnce(async () => keepBody(type, await readFile(join(folder, file))));
}

/** Folder of the build output: this file is in it or, when a test runs the source, next to it. */
const built = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/" : "../../", import.meta.url);

let listed: Files | undefined;

/** Returns the bundled scripts and styles of the dashboard. */
function dashboardFiles(): Files {
  const folder = new URL("dashboard/", built);
  listed ??= new Map(
    readdirSync(folder)
      .filter((file) => /\.(js|css)$/.test(file))
      .map((file) => {
        const type = file.endsWith(".css") ? STYLE : SCRIPT;
        return [file, madeOnce(async () => keepBody(type, await readFile(new URL(file, folder))))];
      }),
  );
  return listed;
}
