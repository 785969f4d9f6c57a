import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { is_valid_flux } from "@influxdata/flux-lsp-node";
import { expect } from "chai";
import { influxClient } from "../../src/stores/influxdb/connection.js";
import { beginCopy, marksScript, measurementsScript } from "../../src/stores/influxdb/import.js";

describe("scripts that look for copies into a bucket", () => {
  for (const bucket of ["metrics", 'a" or "b', "back\\slash", "$" + "{env}"]) {
    it(`are Flux for the bucket ${bucket}`, () => {
      for (const script of [marksScript(bucket), measurementsScript(bucket)]) {
        expect(is_valid_flux(script), script).to.equal(true);
      }
    });
  }
});

describe("a copy into a bucket", () => {
  for (const [what, answer] of [
    ["that is cut", ""],
    ["that reports an error", "error,reference\r\nquery terminated,\r\n\r\n"],
  ] as const) {
    it(`is not begun on an answer ${what}`, async () => {
      const paths: string[] = [];
      const server = createServer((request, response) => {
        paths.push(new URL(request.url ?? "", "http://127.0.0.1").pathname);
        request.resume().on("end", () => response.end(answer));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const client = influxClient({ url: `http://127.0.0.1:${port}`, org: "o", bucket: "b", token: "t" }, 10_000);
      const failure = await beginCopy(client, "b", "source", 0).catch(({ name }: Error) => name);
      client.close();
      server.close();
      expect(failure).to.equal("BrokenResponse");
      expect(paths).to.deep.equal(["/api/v2/query"]);
    });
  }
});
