/** Style of the page at `/`. Long commands wrap, so that no part of the page scrolls separately. */
export const pageStyle = `
:root { color-scheme: light dark; --text: #1b1f23; --page: #ffffff; --link: #0a55a8; --edge: #c8ccd1; --block: #f5f6f8; font: 16px/1.45 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --page: #131516; --link: #8ab8ff; --edge: #4a4f55; --block: #1e2124; }
}
body { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1rem; color: var(--text); background: var(--page); }
a { color: var(--link); }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 1rem 0 .5rem; }
p { margin: .5rem 0; }
pre { margin: .25rem 0; padding: .5rem .75rem; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--edge); border-radius: .4rem; background: var(--block); font-size: .8rem; }
td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
@media (min-width: 60rem) {
  .columns { display: grid; grid-template-columns: 2fr 3fr; gap: 2.5rem; }
}
`;

/**
 * Returns the page at `/`: an introduction, links, and commands to paste. It has no script and loads nothing from other
 * servers. `address` is the service's address without a trailing slash and needs no quotes in HTML or a shell.
 */
export const homePage = (address: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>entity-metrics</title>
<style>${pageStyle}</style>
<main>
<h1>entity-metrics</h1>
<p>Profiles with their segments, their deletion with a receipt, and time series about them, over HTTP and JSON.</p>
<div class="columns">
<section>
<h2>Where to continue</h2>
<table>
<tr><td><a href="dashboard">/dashboard</a><td>segments, experiences, streams, people and deletions as charts and lists
<tr><td><a href="docs">/docs</a><td>every route, to read and to try
<tr><td><a href="openapi.json">/openapi.json</a><td>the same as an OpenAPI 3.1 document, for programs
<tr><td><a href="health">/health</a><td>whether the service is alive
<tr><td><a href="ready">/ready</a><td>whether its stores are reachable
<tr><td>/metrics<td>its own figures as Prometheus text (needs a key with <code>metric:read</code>)
</table>
</section>
<section>
<h2>Try it</h2>
<p>Requests carry an API key. In the folder of the service, and with its settings, this creates one:</p>
<pre>BASE='${address}'
KEY=$(npx entity-metrics key create --scopes entity:read,entity:write,entity:delete,metric:read,metric:write --name first-steps)</pre>
<p>On another machine use a key from your operator: <code>KEY='em_…'</code>. Behind a proxy that adds a path, <code>BASE</code> is the address of this page without the last slash.</p>
<p>Write a value, and read it:</p>
<pre>curl -X POST "$BASE/api/v2/write" -H "Authorization: $KEY" \\
  -H 'Content-Type: text/plain' --data-binary 'segment,dimension_id=hello value=42'
curl "$BASE/api/metric?dimension=segment&amp;dimension_id=hello&amp;dimension_type=size&amp;range=4h" \\
  -H "Authorization: $KEY"</pre>
<p>Send a message about a person, and read the profile:</p>
<pre>curl -X POST "$BASE/collect/json/web" -H "Authorization: $KEY" \\
  -H 'Content-Type: application/json' -d '{"email":"ann@example.com","segments":["hello"]}'
curl "$BASE/api/entity/user/email/ann@example.com" -H "Authorization: $KEY"</pre>
<p>Delete the profile:</p>
<pre>curl -X DELETE "$BASE/api/entity/user/email/ann@example.com" -H "Authorization: $KEY"</pre>
</section>
</div>
</main>
</html>
`;

/** The page at `/docs`: Swagger UI over our OpenAPI document, with a field for the key. */
export const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>entity-metrics: every route</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/docs.css">
<header>
<form id="key-form">
<label>API key <input id="key" type="password" autocomplete="off" spellcheck="false"></label>
<span>stays in this tab and is sent only to this service</span>
</form>
</header>
<main id="swagger-ui"></main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/docs.js"></script>
</html>
`;

/**
 * Hides Swagger UI's own key field and its server list: the field in the header is the one for the key. Stacks its
 * columns in a narrow window.
 */
export const docsStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
header { position: sticky; top: 0; z-index: 1; padding: .6rem 1.2rem; color: #1b1f23; background: #ffffff; border-bottom: 1px solid #8886; }
header span { font-size: .85rem; }
html.dark-mode header { color: #e8e8e8; background: #131516; }
#key { box-sizing: border-box; width: 34rem; max-width: 100%; }
.swagger-ui .scheme-container, .swagger-ui .authorization__btn, .swagger-ui .response-col_links { display: none; }
@media (max-width: 40rem) {
  .swagger-ui .parameters thead { display: none; }
  .swagger-ui .parameters tr, .swagger-ui .parameters td { display: block; width: auto; }
  .swagger-ui .parameters .parameters-col_description input, .swagger-ui .parameters select { max-width: none; width: 100%; }
}
html.dark-mode .swagger-ui .header-col, html.dark-mode .swagger-ui .examples-select__section-label { color: #e4e6e6; }
html.dark-mode .swagger-ui .parameter__deprecated, html.dark-mode .swagger-ui .opblock .opblock-section-header .try-out__btn.cancel { color: #ff9a9a; }
html.dark-mode .swagger-ui .opblock.opblock-put .opblock-section-header { background: #523524; }
html:not(.dark-mode) .swagger-ui .info .title small { background: #5c6370; }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #3f6600; }
html:not(.dark-mode) .swagger-ui .info .link, html:not(.dark-mode) .swagger-ui .info .url { color: #0a55a8; }
html:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #0a5ca8; }
html:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #0b6b45; }
html:not(.dark-mode) .swagger-ui .opblock-put .opblock-summary-method { background: #8a5200; }
html:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #b3261e; }
html:not(.dark-mode) .swagger-ui .opblock .btn.execute { background: #0a5ca8; border-color: #0a5ca8; }
html:not(.dark-mode) .swagger-ui .opblock .opblock-section-header .try-out__btn.cancel { color: #b3261e; border-color: #b3261e; }
html:not(.dark-mode) .swagger-ui .parameter__in { color: #565656; }
html:not(.dark-mode) .swagger-ui .parameter__deprecated { color: #b3261e; }
html:not(.dark-mode) .swagger-ui .highlight-code .download-contents { background: #555b69; }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12-expand-deep-button { color: #565656; }
`;

/** Runs in the browser. Stores the key only for the tab and sends it only to this origin. */
export const docsScript = `
const dark = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followSystem);
followSystem();

const field = document.getElementById("key");
field.value = sessionStorage.getItem("api-key") ?? "";
field.addEventListener("input", () => sessionStorage.setItem("api-key", field.value.trim()));
document.getElementById("key-form").addEventListener("submit", (event) => event.preventDefault());

// Lines of JSON are shown and sent unchanged: Swagger UI would quote a text whose media type has "json" in its name.
const plainLines = () => ({
  afterLoad() {
    const { fn } = this;
    const sample = fn.getSampleSchema;
    fn.getSampleSchema = (schema, type, ...more) =>
      sample(schema, type === "application/x-ndjson" ? "text/plain" : type, ...more);
  },
});

// Reading comes before writing.
const methods = ["get", "post", "put", "delete"];
const place = (operation) => methods.indexOf(operation.get("method")) + operation.get("path");
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { theme: "tomorrow-night" },
  operationsSorter: (a, b) => (place(a) < place(b) ? -1 : 1),
  persistAuthorization: false,
  plugins: [plainLines],
  requestInterceptor(request) {
    const key = sessionStorage.getItem("api-key");
    if (key && new URL(request.url, location.href).origin === location.origin) request.headers.Authorization = key;
    return request;
  },
});
`;

/**
 * Returns the page at `/dashboard`. Its script renders everything and calls the API like any client. `data` is read by
 * the scripts of the page: JSON by name.
 */
export const dashboardPage = (data: Readonly<Record<string, unknown>>) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>entity-metrics</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="dashboard/dashboard.css">
<div id="page"${Object.entries(data).map(attribute).join("")}><noscript>This page needs JavaScript. <a href="docs">/docs</a> lists every route.</noscript></div>
<script type="module" src="dashboard/main.js"></script>
</html>
`;

function attribute([name, value]: [string, unknown]): string {
  const text = JSON.stringify(value).replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return ` data-${name}="${text}"`;
}
