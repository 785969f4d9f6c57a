// The deletion target of the demo: a system that erases, except for one person.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";

/**
 * Listens on a loopback port and resolves with the setting of this target. It answers 503 to requests that name `email`
 * without `_uid`, so their deletion stays open, and accepts all others.
 */
export async function refusingTarget({ email, _uid }) {
  const token = randomBytes(16).toString("hex");
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
    const { identities } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const names = (value) => identities.some((identity) => identity.value === value);
    if (names(email) && !names(_uid)) return response.writeHead(503).end();
    response.setHeader("content-type", "application/json").end(JSON.stringify({ clean: true }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { name: "crm", url: `http://127.0.0.1:${server.address().port}`, token };
}
