/** How our pages look. */
export const pageStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
pre { padding: .8rem; overflow-x: auto; border: 1px solid #8886; border-radius: .4rem; font-size: .85rem; }
td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
`;

/** What stands at `/`: what this is and where to go. No script, nothing from elsewhere. */
export const homePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>entity-metrics</title>
<style>${pageStyle}</style>
<h1>entity-metrics</h1>
<p>Profiles with their segments, their erasure for good, and time series about them, over HTTP and JSON.</p>

<h2>Where to go</h2>
<table>
<tr><td><a href="dashboard">/dashboard</a><td>streams, segments, experiences, erasures, to look at
<tr><td><a href="docs">/docs</a><td>every route, to read and to try
<tr><td><a href="openapi.json">/openapi.json</a><td>the same as an OpenAPI 3.1 document, for tools
<tr><td><a href="health">/health</a><td>whether the service is alive
<tr><td><a href="ready">/ready</a><td>whether its stores are there
<tr><td>/metrics<td>how it is doing, as Prometheus text (a key with <code>metric:read</code>)
</table>

<h2>Try it</h2>
<p>Requests carry an API key. The first start made one; <code>npm run key -- create --scopes …</code> makes more.</p>
<pre>KEY=em_…

# write a value
curl -X POST "$BASE/api/v2/write" -H "Authorization: $KEY" \\
  -H 'Content-Type: text/plain' --data-binary 'segment,dimension_id=hello value=42'

# read it back
curl "$BASE/api/metric?dimension=segment&amp;dimension_id=hello&amp;dimension_type=size&amp;range=4h" \\
  -H "Authorization: $KEY"

# tell about a person, and look the profile up
curl -X POST "$BASE/collect/json/web" -H "Authorization: $KEY" \\
  -H 'Content-Type: application/json' -d '{"email":"ann@example.com","segments":["hello"]}'
curl "$BASE/api/entity/user/email/ann@example.com" -H "Authorization: $KEY"

# erase it, for good
curl -X DELETE "$BASE/api/entity/user/email/ann@example.com" -H "Authorization: $KEY"</pre>
<p><code>$BASE</code> is the address of this page without the last slash.</p>
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
<form id="key-form">
<label>API key <input id="key" type="password" autocomplete="off" spellcheck="false"></label>
<span>stays in this tab, and is sent to this service alone</span>
</form>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/docs.js"></script>
</html>
`;

/**
 * Swagger UI's own place for a key, and its choice of the one server there is, are hidden: the field above is the one for the key.
 * What it sets side by side is put below each other where the window is narrow.
 */
export const docsStyle = `${pageStyle}
body { max-width: none; margin: 0; padding: 0; }
#key-form { position: sticky; top: 0; z-index: 1; padding: .6rem 1.2rem; background: Canvas; border-bottom: 1px solid #8886; }
#key-form span { opacity: .8; font-size: .85rem; }
#key { box-sizing: border-box; width: 34rem; max-width: 100%; }
.swagger-ui .scheme-container, .swagger-ui .authorization__btn, .swagger-ui .response-col_links { display: none; }
@media (max-width: 40rem) {
  .swagger-ui .parameters thead { display: none; }
  .swagger-ui .parameters tr, .swagger-ui .parameters td { display: block; width: auto; }
  .swagger-ui .parameters .parameters-col_description input, .swagger-ui .parameters select { max-width: none; width: 100%; }
}
html.dark-mode .swagger-ui .header-col, html.dark-mode .swagger-ui .examples-select__section-label { color: #e4e6e6; }
html.dark-mode .swagger-ui .parameter__deprecated, html.dark-mode .swagger-ui .opblock .opblock-section-header .try-out__btn.cancel { color: #ff9a9a; }
`;

/** Runs in the browser. The key is kept for as long as the tab, and goes to our own origin only. */
export const docsScript = `
const dark = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followSystem);
followSystem();

const field = document.getElementById("key");
field.value = sessionStorage.getItem("api-key") ?? "";
field.addEventListener("input", () => sessionStorage.setItem("api-key", field.value.trim()));
document.getElementById("key-form").addEventListener("submit", (event) => event.preventDefault());

// Lines of JSON are shown and sent as they are: Swagger UI would quote a text whose media type has "json" in its name.
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

/** The page at `/dashboard`. Everything in it is made by its script, which asks the API as every other client does. */
export const dashboardPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>entity-metrics</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="dashboard/page/uplot.css">
<link rel="stylesheet" href="dashboard/page/dashboard.css">
<header></header>
<main id="main" tabindex="-1"><noscript>This page needs JavaScript. <a href="docs">/docs</a> lists every route.</noscript></main>
<footer><a href="docs">API</a> <a href="./">Start</a></footer>
<script src="dashboard/page/uplot.js"></script>
<script type="module" src="dashboard/page/main.js"></script>
</html>
`;
