import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { expect } from "chai";
import { folderOfSuite } from "../support/files.js";
import { httpServer } from "../support/http-server.js";
import { collectThrough } from "../support/requests.js";
import { runToEnd } from "../support/run-command.js";
import { adminKey, serviceOfSuite } from "../support/service.js";
import { root } from "../support/source-tree.js";

describe("the export command", function () {
  this.timeout(60_000);
  const service = serviceOfSuite();
  const { at } = folderOfSuite();
  before(() =>
    collectThrough(service, [
      { email: "ada@example.com", city: "Oslo" },
      { email: "ada@example.com", segments: ["all"] },
    ]),
  );

  const typesIn = (text: string) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).type);
  const of = (value?: string) => [
    "--table",
    "user",
    "--field",
    "email",
    ...(value === undefined ? [] : ["--value", value]),
  ];
  const whole = ["profile", "message", "message", "end"];

  it("writes the lines of the service to stdout", async () => {
    const { code, out, err } = await runToEnd("export", [...of("ada@example.com"), "--url", service.url]);
    expect({ code, err }).to.deep.equal({ code: 0, err: "" });
    expect(typesIn(out)).to.deep.equal(whole);
    expect(JSON.parse(out.split("\n")[0] ?? "").attributes.city.value).to.equal("Oslo");
  });

  it("reads the identity from stdin, and writes a file that only its owner may read", async () => {
    const file = at("ada.ndjson");
    const args = ["--import", "tsx", "src/commands/export.ts", ...of(), "--out", file, "--url", service.url];
    const env = { ...process.env, ENTITY_METRICS_KEY: adminKey };
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["pipe", "inherit", "inherit"] });
    child.stdin.end("ada@example.com\n");
    expect((await once(child, "exit"))[0]).to.equal(0);
    expect(typesIn(readFileSync(file, "utf8"))).to.deep.equal(whole);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
  });

  it("fails and leaves no file if the last line is missing", async () => {
    const { url, close } = await httpServer((request, response) => {
      request.resume();
      response.end('{"type":"profile"}\n');
    });
    const file = at("cut.ndjson");
    const { code, err } = await runToEnd("export", [...of("x"), "--out", file, "--url", url]);
    await close();
    expect(code).to.equal(1);
    expect(err).to.match(/^The export is incomplete: .*\n$/);
    expect(existsSync(file)).to.equal(false);
    expect(readdirSync(at()).filter((name) => name.startsWith("cut"))).to.deep.equal([]);
  });

  it("reports in a line that no entity has the identity, without repeating it", async () => {
    const { code, err } = await runToEnd("export", [...of("eve@example.com"), "--url", service.url]);
    expect(code).to.equal(1);
    expect(err).to.match(/^The service answered 404: There is no such entity\n$/);
  });
});
