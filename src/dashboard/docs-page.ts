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
<label>API key <input id="key" type="password" autocomplete="off" spellcheck="false" size="60"></label>
<span>stays in this tab, and is sent to this service alone</span>
</form>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/docs.js"></script>
</html>
`;

export const docsStyle = `${pageStyle}
body { max-width: none; }
#key-form { position: sticky; top: 0; z-index: 1; padding: .6rem; background: Canvas; border-bottom: 1px solid #8886; }
#key-form span { opacity: .7; font-size: .85rem; }
`;

/** Runs in the browser. The key is kept for as long as the tab, and goes to our own origin only. */
export const docsScript = `
const field = document.getElementById("key");
field.value = sessionStorage.getItem("api-key") ?? "";
field.addEventListener("input", () => sessionStorage.setItem("api-key", field.value.trim()));
document.getElementById("key-form").addEventListener("submit", (event) => event.preventDefault());
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  requestInterceptor(request) {
    const key = sessionStorage.getItem("api-key");
    if (key && new URL(request.url, location.href).origin === location.origin) request.headers.Authorization = key;
    return request;
  },
});
`;
