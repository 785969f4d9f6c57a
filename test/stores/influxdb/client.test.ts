import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { influxClient } from "../../../src/stores/influxdb/connection.js";

describe("requests to InfluxDB", () => {
  for (const { host, compressed } of [
    { host: "127.0.0.1", compressed: false },
    { host: "localhost", compressed: false },
    { host: "0.0.0.0", compressed: true },
  ]) {
    it(`and their responses are ${compressed ? "" : "not "}compressed with a server at ${host}`, async () => {
      const seen: IncomingHttpHeaders[] = [];
      const server = createServer((request, response) => {
        seen.push(request.headers);
        request.resume().on("end", () => response.writeHead(204).end());
      });
      await new Promise<void>((resolve) => server.listen(0, resolve));
      const { port } = server.address() as AddressInfo;
      const client = influxClient({ url: `http://${host}:${port}`, org: "o", bucket: "b", token: "t" }, 1_000);
      const { signal } = new AbortController();
      await client.write("stream value=1 1\n".repeat(1_000), signal);
      for await (const _ of client.query("buckets()", signal));
      client.close();
      server.close();
      expect(seen.map((headers) => headers["content-encoding"])).to.deep.equal([
        compressed ? "gzip" : undefined,
        undefined,
      ]);
      expect(seen.map((headers) => headers["accept-encoding"])[1]).to.equal(compressed ? "gzip" : undefined);
    });
  }
});
