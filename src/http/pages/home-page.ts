import { pageStyle } from "./page-style.js";

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
