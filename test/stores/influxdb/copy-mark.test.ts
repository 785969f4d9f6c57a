import type { ServerResponse } from "node:http";
import { is_valid_flux } from "@influxdata/flux-lsp-node";
import { expect } from "chai";
import { influxClient } from "../../../src/stores/influxdb/connection.js";
import { beginCopy } from "../../../src/stores/influxdb/import.js";
import { httpServer } from "../../support/http-server.js";

describe("a copy into a bucket", () => {
  /** Begins a copy on a server with this response. Resolves with the requests, and the name of the failure. */
  async function begun(bucket: string, answer: (path: string, response: ServerResponse) => void) {
    const requests: { readonly path: string; readonly body: string }[] = [];
    const { url, close } = await httpServer(async (request, response) => {
      const { pathname } = new URL(request.url ?? "", "http://127.0.0.1");
      requests.push({ path: pathname, body: Buffer.concat(await request.toArray()).toString() });
      answer(pathname, response);
    });
    const client = influxClient({ url, org: "o", bucket, token: "t" }, 10_000);
    const failure = await beginCopy(client, bucket, "source", 0).then(
      () => undefined,
      ({ name }: Error) => name,
    );
    client.close();
    await close();
    return { requests, failure };
  }

  for (const bucket of ["metrics", 'a" or "b', "back\\slash", "$" + "{env}"]) {
    it(`reads the bucket ${bucket} in valid Flux, and marks it if it is empty`, async () => {
      const { requests, failure } = await begun(bucket, (path, response) =>
        path === "/api/v2/write" ? response.writeHead(204).end() : response.end("\r\n"),
      );
      expect(failure).to.equal(undefined);
      const queries = requests.filter(({ path }) => path === "/api/v2/query").map(({ body }) => JSON.parse(body).query);
      expect(queries).to.have.length(2);
      for (const query of queries) expect(is_valid_flux(query), query).to.equal(true);
      expect(requests.at(-1)?.body).to.equal('entity_metrics_copy,source=source state="copying" 0000000');
    });
  }

  for (const [what, answer] of [
    ["that is cut", ""],
    ["that reports an error", "error,reference\r\nquery terminated,\r\n\r\n"],
  ] as const) {
    it(`is not begun after a response ${what}`, async () => {
      const { requests, failure } = await begun("b", (_, response) => response.end(answer));
      expect(failure).to.equal("BrokenResponse");
      expect(requests.map(({ path }) => path)).to.deep.equal(["/api/v2/query"]);
    });
  }
});
