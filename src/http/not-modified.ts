import type { ApiContext } from "./route.js";

/**
 * Whether a GET or HEAD names the ETag of the answer that is about to go out: then 304 is due (RFC 9110, 13.1.2). The request's
 * own `Cache-Control` speaks to caches on the way: `fetch` sends `no-cache` with every `If-None-Match` of its caller.
 */
export function isNotModified({ method, req, res }: Pick<ApiContext, "method" | "req" | "res">): boolean {
  const asked = req.headers["if-none-match"];
  const tag = res.getHeader("ETag");
  if (asked === undefined || typeof tag !== "string" || (method !== "GET" && method !== "HEAD")) return false;
  const known = withoutWeakness(tag);
  return asked.split(",").some((one) => one.trim() === "*" || withoutWeakness(one.trim()) === known);
}

/** What the weak comparison of two tags looks at. */
function withoutWeakness(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
