import { pageStyle } from "./page-style.js";

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
