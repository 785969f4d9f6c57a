import { readFileSync } from "node:fs";
import { expect } from "chai";
import { folderOfSuite } from "../support/files.js";
import { httpServer } from "../support/http-server.js";
import { removeThrough } from "../support/requests.js";
import { itRefuses, runToEnd } from "../support/run-command.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

describe("the receipt command", () => {
  const service = serviceOfSuite();
  const { at, file } = folderOfSuite();
  let completed: string;
  before(async () => {
    completed = await removeThrough(service, "email/ada@example.com");
    await until("the deletion", async () => (await service.fetch(`/api/deletion/${completed}/receipt`)).status === 200);
  });

  const run = (args: readonly string[], environment: Record<string, string> = {}) =>
    runToEnd("receipt", args, { ENTITY_METRICS_URL: service.url, ...environment });

  it("prints only the receipt, and verifies it with the service without a key", async () => {
    const { code, out, err } = await run(["get", completed]);
    expect({ code, err }).to.deep.equal({ code: 0, err: "" });
    expect(out).to.match(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const verified = await run(["verify", file("receipt.jws", out)], { ENTITY_METRICS_KEY: "" });
    expect({ code: verified.code, err: verified.err }).to.deep.equal({ code: 0, err: "The receipt is valid\n" });
    expect(JSON.parse(verified.out)).to.include({ request_id: completed, service: "entity-metrics" });
  });

  it("verifies a receipt, or a file with one a line, with public keys of a file or an address, without a service", async () => {
    const receipt = file("receipt.jws", (await run(["get", completed])).out);
    const keys = file("jwks.json", await (await service.fetch("/.well-known/jwks.json", { key: null })).text());
    const nowhere = { ENTITY_METRICS_URL: "http://127.0.0.1:9" };
    for (const place of [keys, `${service.url}/.well-known/jwks.json`]) {
      const { code, err } = await run(["verify", receipt, "--keys", place], nowhere);
      expect({ code, err }, place).to.deep.equal({ code: 0, err: "The receipt is valid\n" });
    }
    const text = readFileSync(receipt, "utf8");
    const many = await run(["verify", file("many.jws", text + text), "--keys", keys], nowhere);
    expect({ code: many.code, err: many.err }).to.deep.equal({ code: 0, err: "All 2 receipts are valid\n" });
    expect(many.out.match(new RegExp(completed, "g"))).to.have.length(2);
    const one = await run(["verify", file("many.jws", `${text}x`), "--keys", keys], nowhere);
    expect(one.err).to.match(/^Receipt 2 of 2 is not valid: Invalid Compact JWS\n$/);
    const changed = file(
      "changed.jws",
      readFileSync(receipt, "utf8").replace(/\.(.)/, (_, c) => (c === "e" ? ".f" : ".e")),
    );
    const refused = await run(["verify", changed, "--keys", keys], nowhere);
    expect({ code: refused.code, out: refused.out }).to.deep.equal({ code: 1, out: "" });
    expect(refused.err).to.match(/^The receipt is not valid: signature verification failed\n$/);
  });

  it("ends with a message if an address of public keys never answers", async () => {
    const receipt = file("receipt.jws", (await run(["get", completed])).out);
    const url = `${(await httpServer(() => {})).url}/`;
    const { code, err } = await run(["verify", receipt, "--keys", url]);
    expect({ code, err }).to.deep.equal({ code: 1, err: `${url} timed out after 5 s\n` });
  });

  itRefuses(run, [
    ["no action", () => [], 2, /missing required argument/],
    ["public keys to get with", () => ["get", completed, "--keys", "x"], 2, /^--keys is only for verify$/m],
    ["an unknown request", () => ["get", "0123456789abcdef0123-1"], 1, /^There is no deletion with this request id$/m],
    ["no file", () => ["verify", at("none")], 1, /cannot be read \(ENOENT\)$/m],
    ["a file that is no receipt", () => ["verify", file("x", "x")], 1, /not valid: Invalid Compact JWS$/m],
    [
      "malformed keys",
      () => ["verify", file("x", "x"), "--keys", file("y", '{"keys":[1]}')],
      1,
      /not valid: .+ malformed$/m,
    ],
    [
      "a malformed key",
      () => {
        const header = Buffer.from('{"alg":"EdDSA","kid":"k"}').toString("base64url");
        const keys = '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"x"}]}';
        return ["verify", file("x", `${header}.e30.AA`), "--keys", file("y", keys)];
      },
      1,
      /^The receipt is not valid: .+\n$/,
    ],
    ["keys that are not JSON", () => ["verify", file("x", "x"), "--keys", file("y", "y")], 1, /is not JSON$/m],
    ["a file without keys", () => ["verify", file("x", "x"), "--keys", file("y", "[]")], 1, /contains no public keys/],
  ]);
});
