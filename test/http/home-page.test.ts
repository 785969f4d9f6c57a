import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";
import { rawRequest } from "../support/raw-request.js";
import { serviceOfSuite, startService } from "../support/service.js";
import { root } from "../support/source-tree.js";

describe("the page at /", function () {
  this.timeout(120_000);
  // Its commands make a key in the folder of the service.
  const service = serviceOfSuite({}, { onServers: false });

  /** The commands of a page, in their order, as a browser copies them. */
  const commandsOf = (page: string) =>
    [...page.matchAll(/<pre>([^<]*)<\/pre>/g)].map(([, text = ""]) =>
      text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
    );
  const addressesIn = (page: string) => [...page.matchAll(/BASE='(.*)'/g)].map(([, address]) => address);
  const pageFor = async (...headers: string[]) => {
    const head = ["GET / HTTP/1.1", ...headers, "Connection: close", "", ""].join("\r\n");
    return (await rawRequest(service.port, head)).text;
  };

  it("contains commands that work if they are pasted into sh one after another", async function () {
    if (spawnSync("curl", ["--version"]).error !== undefined) {
      process.stderr.write("curl was not found: the commands of the page at / are not tried\n");
      this.skip();
    }
    const commands = commandsOf(await (await service.fetch("/", { key: null })).text());
    const env = { ...process.env, DATA_DIR: service.dir };
    const { stdout: out } = await promisify(execFile)("sh", ["-ec", commands.join("\n")], { cwd: root, env });
    expect(out).to.not.match(/"status":[45]\d\d/);
    for (const words of ['"value":42', '"message_count":1', '"email":"ann@example.com"', "Delete request received"])
      expect(out).to.contain(words);
  });

  it("contains the address at which it was requested, or its own if the Host header is invalid", async () => {
    expect(addressesIn(await pageFor("Host: metrics.example:8443"))).to.deep.equal(["http://metrics.example:8443"]);
    expect(addressesIn(await pageFor("Host: [::1]:8080"))).to.deep.equal(["http://[::1]:8080"]);
    for (const host of ["a'; rm -rf b; '", "<b>", "$(id)", ""]) {
      expect(addressesIn(await pageFor(`Host: ${host}`)), host).to.deep.equal([service.url]);
    }
  });

  it("contains the address of the proxy if trust_proxy is set", async () => {
    const headers = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "metrics.example" };
    const page = await (await service.fetch("/", { headers })).text();
    expect(addressesIn(page)).to.deep.equal([service.url]);
    const behind = await startService({ http: { trust_proxy: true } });
    const proxied = await (await behind.fetch("/", { headers })).text();
    expect(addressesIn(proxied)).to.deep.equal(["https://metrics.example"]);
  });
});
