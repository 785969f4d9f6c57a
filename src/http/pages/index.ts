import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Type } from "@sinclair/typebox";
import helmet from "helmet";
import type { Tables } from "../../entities/profile/entity-tables.js";
import { found } from "../../errors.js";
import { answerKept, type KeptBody, keepBody, madeOnce } from "../core/response-body.js";
import { done } from "../core/responses.js";
import { type ApiContext, type Route, route } from "../core/route.js";
import { dashboardPage, docsPage, docsScript, docsStyle, homePage, pageStyle } from "./page-texts.js";

/** The pages for people, and the files they are made of. All are ours: nothing is loaded from elsewhere. */
export function pageRoutes(tables: Tables): readonly Route[] {
  return [
    page("/", { id: "showHomePage", summary: "What this is, for people" }, homePage, forHome),
    page("/docs", { id: "showDocsPage", summary: "Every route, for people" }, docsPage, forDocs),
    page(
      "/dashboard",
      { id: "showDashboard", summary: "What there is to see, for people", unknownQuery: "unchecked" },
      dashboardPage(tables),
      forDashboard,
    ),
    route({
      method: "GET",
      path: "/dashboard/:file",
      scopes: "keyless",
      docs: {
        id: "readDashboardFile",
        tag: "operations",
        summary: "What the dashboard is made of",
        description: "Styles and scripts.",
      },
      params: { file: Type.String({ minLength: 1, examples: ["dashboard.css"] }) },
      responses: { 200: done({ "text/css": Type.String(), "text/javascript": Type.String() }) },
      async handler({ ctx, params: { file } }) {
        await answerFile(ctx, dashboardFiles(), file);
      },
    }),
    route({
      method: "GET",
      path: "/docs/:file",
      scopes: "keyless",
      docs: {
        id: "readDocsFile",
        tag: "operations",
        summary: "What the pages are made of",
        description: "Styles, scripts and images.",
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
        await answerFile(ctx, docsFiles, file);
      },
    }),
  ];
}

const html = done({ "text/html": Type.String() });

type Protection = ReturnType<typeof helmet>;

/** A route that answers with a page, or with one made for the address of the service; `unknownQuery` as in `Route`. */
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
    docs: { id, summary, tag: "operations", description: "A page." },
    responses: { 200: html },
    handler({ ctx }) {
      protect(ctx.req, ctx.res, () => {});
      ctx.set({ "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache" });
      ctx.status = 200;
      ctx.body = typeof text === "string" ? text : text(addressOf(ctx));
    },
  });
}

/** Host names, IP addresses and ports: nothing that means more than itself in HTML or in a shell. */
const PLAIN_HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/** The address at which the caller requested the service; that of the connection where the request names no plain host. */
function addressOf({ host, secure, req: { socket } }: ApiContext): string {
  const { localAddress = "", localPort } = socket;
  const own = localAddress.includes(":") ? `[${localAddress}]` : localAddress;
  return `${secure ? "https" : "http"}://${PLAIN_HOST.test(host) ? host : `${own}:${localPort}`}`;
}

type Files = ReadonlyMap<string, () => Promise<KeptBody>>;

async function answerFile(ctx: ApiContext, files: Files, name: string): Promise<void> {
  const file = found(files.get(name));
  answerKept(ctx, await file());
}

const noBaseNorForm = { baseUri: ["'none'"], formAction: ["'none'"] };

const forHome = protection({
  ...noBaseNorForm,
  styleSrc: [`'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'`],
});

/** Its scripts and styles are files of ours; what moves a style does so by the object model, which the policy lets be. */
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

/** A page may load what is named and nothing else. The service speaks plain HTTP behind a proxy that does TLS, so neither HSTS nor upgrades are ours to ask for. */
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

/** A file of a package that we depend on, read when it is first asked for. */
function ofPackage(name: string, file: string, type: string): () => Promise<KeptBody> {
  const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  return madeOnce(async () => keepBody(type, await readFile(join(folder, file))));
}

/** What the build made: this file lies in it, or (when a test runs the source) beside it. */
const built = new URL(import.meta.url.endsWith(".ts") ? "../../../dist/" : "../../", import.meta.url);

let listed: Files | undefined;

/** The bundled scripts and the style of the dashboard. */
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
