import { expect } from "chai";
import { requireKey, serviceUrl } from "../../src/commands/running-service.js";
import { folderOfSuite } from "../support/files.js";
import { freePort } from "../support/free-port.js";
import { httpServer } from "../support/http-server.js";
import { runToEnd } from "../support/run-command.js";
import { serviceOfSuite } from "../support/service.js";

describe("the address of the service", function () {
  this.timeout(60_000);
  const service = serviceOfSuite();
  const { file } = folderOfSuite();
  const collect = (environment: Record<string, string>) =>
    runToEnd("collect", [file("people.ndjson", '{"_uid":"u-1"}\n'), "--stream", "web"], environment);

  it("is found by ENTITY_METRICS_URL or PORT", async () => {
    for (const environment of [{ ENTITY_METRICS_URL: `${service.url}/` }, { PORT: String(service.port) }]) {
      const { code, err } = await collect(environment);
      expect(code, err).to.equal(0);
    }
  });

  it("is reported at the first try of a command if there is no service", async () => {
    const port = await freePort();
    for (const host of ["127.0.0.1", "localhost"]) {
      const { code, err } = await collect({ ENTITY_METRICS_URL: `http://${host}:${port}` });
      expect(code).to.equal(1);
      expect(err).to.contain(`There is no service at http://${host}:${port}: start it`).and.not.contain("retrying");
    }
  });

  const addresses: [option: string | undefined, environment: Record<string, string>, url: string][] = [
    [undefined, {}, "http://127.0.0.1:8080"],
    [undefined, { PORT: "9000" }, "http://127.0.0.1:9000"],
    [undefined, { PORT: "9000", ENTITY_METRICS_URL: "https://metrics.example/base/" }, "https://metrics.example/base"],
    ["http://10.0.0.1:1", { PORT: "9000", ENTITY_METRICS_URL: "https://metrics.example" }, "http://10.0.0.1:1"],
    [undefined, { PORT: "", ENTITY_METRICS_URL: "" }, "http://127.0.0.1:8080"],
  ];
  for (const [option, environment, url] of addresses) {
    it(`is ${url} for --url ${option} and ${JSON.stringify(environment)}`, () => {
      expect(serviceUrl(option, environment)).to.equal(url);
    });
  }

  it("is refused with a message if it is not valid", () => {
    expect(() => serviceUrl("nonsense", {})).to.throw("--url must be an address such as http://127.0.0.1:8080");
    expect(() => serviceUrl(undefined, { ENTITY_METRICS_URL: "ftp://x" })).to.throw(
      "ENTITY_METRICS_URL must be an address",
    );
    expect(() => serviceUrl(undefined, { PORT: "0" })).to.throw("PORT is not a port");
    for (const url of ["http://user@host", "http://:word@host", "http://host/?a=1", "http://host/#a"]) {
      expect(() => serviceUrl(url, {}), url).to.throw("--url is an address with a user, a query or a fragment");
    }
  });

  it("is refused if it redirects to another address", async () => {
    const { url, close } = await httpServer((_, response) => response.writeHead(308, { Location: service.url }).end());
    const points = file("points.csv", "ts,value\n2024-06-01,1\n");
    const args = [points, "--dimension", "stream", "--dimension-id", "web"];
    const { code, err } = await runToEnd("ingest", args, { ENTITY_METRICS_URL: url });
    await close();
    expect(code).to.equal(1);
    expect(err).to.contain(`${url} redirects to another address: use that one`);
  });
});

describe("the key of commands", () => {
  it("is read from the environment without blanks around it", () => {
    expect(requireKey(" em_a_b\r\n")).to.equal("em_a_b");
    expect(requireKey("Bearer em_a_b")).to.equal("Bearer em_a_b");
  });

  it("is refused with a message if it is missing or contains a character that no header can", () => {
    for (const key of [undefined, "", " "]) expect(() => requireKey(key)).to.throw("ENTITY_METRICS_KEY is not set");
    for (const key of ["em_…", "em_a\nb", "em_ä"]) {
      expect(() => requireKey(key), key).to.throw("ENTITY_METRICS_KEY contains a character that no API key has");
    }
  });
});
