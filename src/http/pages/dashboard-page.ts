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
