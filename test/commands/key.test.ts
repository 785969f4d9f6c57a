import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { mintKey } from "../../src/keys/verify-key.js";
import { itRefuses, runToEnd, startCommand } from "../support/run-command.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

describe("the key command", () => {
  const service = serviceOfSuite();

  const run = (...args: string[]) => runToEnd("key", args, { DATA_DIR: service.dir });
  const status = async (key: string) => {
    const response = await service.fetch("/metrics", { key });
    await response.arrayBuffer();
    return response.status;
  };

  it("prints only a new key, which a running service accepts, lists it, and revokes it within five seconds", async () => {
    const made = await run("create", "--scopes", "metric:read,metric:write", "--name", "dashboards");
    expect(made.code, made.err).to.equal(0);
    expect(made.out).to.match(/^em_[A-Za-z0-9]+_[A-Za-z0-9]{22,}\n$/);
    const key = made.out.trim();
    expect(await status(key)).to.equal(200);

    const listed = await run("list");
    expect(
      listed.out
        .split("\n")[0]
        ?.split("\t")
        .map((cell) => cell.trim()),
    ).to.deep.equal(["id", "created", "last used", "state", "scopes", "bounds", "name"]);
    const [, id = "", secret = ""] = key.split("_");
    expect(listed.out).to.include(id).and.include("metric:read,metric:write").and.include("dashboards");
    expect(listed.out).to.not.include(secret);

    expect((await run("revoke", id)).code).to.equal(0);
    const revokedAt = Date.now();
    await until("the key is refused", async () => {
      const asked = Date.now();
      const answered = await status(key);
      if (answered === 200) expect(asked - revokedAt).to.be.below(5000);
      return answered === 401;
    });
    expect((await run("list")).out).to.include("revoked");
  });

  it("lists the day on which each key was last used", async () => {
    const ids = ["used", "unused"].map(async (name) => {
      const { out } = await run("create", "--scopes", "metric:read", "--name", name);
      return out.trim();
    });
    const [used = "", unused = ""] = await Promise.all(ids);
    const before = Date.now();
    expect(await status(used)).to.equal(200);
    const days = [before, Date.now()].map((at) => new Date(at).toISOString().slice(0, 10));
    const rows = (await run("list")).out.split("\n").map((line) => line.split("\t").map((cell) => cell.trim()));
    const lastUse = (key: string) => rows.find(([id]) => id === key.split("_")[1])?.[2];
    expect(lastUse(used)).to.be.oneOf(days);
    expect(lastUse(unused)).to.equal("never");
  });

  it("creates a key with bounds, and lists them with its state", async () => {
    const bounds = [
      "--stream",
      "web",
      "--event-streams",
      "--fields",
      "plan, segments",
      "--by",
      "email",
      "--rate",
      "60",
    ];
    const origins = ["--origins", "https://A.example:443,http://b.example:8080/"];
    const before = Date.now();
    const made = await run("create", "--scopes", "entity:read,entity:write", ...bounds, ...origins, "--expires", "2h");
    expect(made.code, made.err).to.equal(0);
    const key = made.out.trim();
    const { data } = (await (await service.fetch("/api/key", { key })).json()) as { data: Record<string, unknown> };
    const { id, expires_at, ...rest } = data;
    expect(rest).to.deep.equal({
      name: "",
      scopes: ["entity:read", "entity:write"],
      stream: "web",
      event_streams: true,
      fields: ["plan", "segments"],
      by: "email",
      origins: ["https://a.example", "http://b.example:8080"],
      rate: 60,
    });
    expect(Date.parse(String(expires_at)) - before).to.be.within(7_200_000, 7_260_000);
    const ended = mintKey("", ["metric:read"], before, { expiresAt: before });
    await service.service.stores.keys.add(ended.stored);
    const rows = (await run("list")).out.split("\n").map((line) => line.split("\t").map((cell) => cell.trim()));
    const cells = (of: unknown) => rows.find(([first]) => first === of)?.slice(3, 6);
    const listed =
      "by=email; event_streams=true; fields=plan,segments; origins=https://a.example,http://b.example:8080; rate=60; stream=web";
    const [state, , shown = ""] = cells(id) ?? [];
    expect(state).to.equal("valid");
    expect(shown.split("; ").sort().join("; ")).to.equal(
      listed.replace("; fields", `; expires_at=${expires_at}; fields`),
    );
    expect(cells(ended.stored.id)).to.deep.equal([
      "expired",
      "metric:read",
      `expires_at=${new Date(before).toISOString()}`,
    ]);
  });

  const idsListed = async () => (await run("list")).out.split("\n").map((line) => line.split("\t")[0]);

  it("stores no key that a closed stdout could not show, and ends with 1 and one line", async () => {
    const before = await idsListed();
    const { child, ended, err } = startCommand("key", ["create", "--scopes", "admin"], { DATA_DIR: service.dir });
    child.stdout?.destroy();
    expect(await ended, err()).to.equal(1);
    expect(err()).to.match(/^stdout cannot be written \([A-Z]+\)\n$/);
    expect(await idsListed()).to.deep.equal(before);
  });

  itRefuses(
    (args) => run(...args),
    [
      ["no action", () => [], 2, /\S/],
      ["no scopes", () => ["create"], 2, /\S/],
      ["an unknown scope", () => ["create", "--scopes", "metric:read,everything"], 2, /\S/],
      ["no id", () => ["revoke"], 2, /\S/],
      ["an id to list", () => ["list", "abc"], 2, /\S/],
      ["a name with a line break", () => ["create", "--scopes", "admin", "--name", "a\nb"], 2, /\S/],
      ["a bound that its scope reaches past", () => ["create", "--scopes", "admin", "--stream", "web"], 2, /\S/],
      ["a bound to list by", () => ["list", "--stream", "web"], 2, /\S/],
      ["streams of events to list by", () => ["list", "--event-streams"], 2, /--event-streams/],
      ["a bound to revoke by", () => ["revoke", "abc", "--rate", "5"], 2, /\S/],
      ["an unknown id", () => ["revoke", "nobody"], 1, /\S/],
    ],
  );
  for (const args of [["list"], ["create", "--scopes", "admin"], ["revoke", "nobody"]]) {
    it(`creates no folder for ${args[0]}, and reports that there is none`, async () => {
      const missing = join(service.dir, "not-there");
      const { code, out, err } = await runToEnd("key", args, { DATA_DIR: missing });
      expect({ code, out }).to.deep.equal({ code: 1, out: "" });
      expect(err).to.match(/^.* does not exist: start the service once, or name its DATA_DIR\n$/);
      expect(existsSync(missing)).to.equal(false);
    });
  }
});
