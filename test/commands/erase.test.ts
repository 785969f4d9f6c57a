import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from "jose";
import { runs } from "../support/child-service.js";
import { dataFolder } from "../support/data-folder.js";
import { folderOfSuite } from "../support/files.js";
import { startReal } from "../support/real-service.js";
import { remoteSystem } from "../support/remote-system.js";
import { collectThrough, statusOfProfile } from "../support/requests.js";
import { itRefuses, runToEnd, startCommand } from "../support/run-command.js";
import { adminKey, newKey, serviceOfSuite, startService } from "../support/service.js";
import { root } from "../support/source-tree.js";
import { until } from "../support/until.js";

const REQUEST_ID = /^[0-9a-f]{20}-\d{10}$/;

/** Line numbers and request ids that the command wrote. */
function acceptedIn(out: string): [line: number, id: string][] {
  return out
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [, number, id = ""] = /^(\d+) (\S+)$/.exec(line) ?? [];
      expect(id, line).to.match(REQUEST_ID);
      return [Number(number), id];
    });
}

const linesOf = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}\n`).join("");

describe("erase", function () {
  this.timeout(60_000);
  const service = serviceOfSuite();
  const { at, file } = folderOfSuite();
  const erase = (...args: string[]) => runToEnd("erase", ["--url", service.url, ...args]);
  const deletions = async () => {
    const response = await service.fetch("/api/deletion?state=all&limit=1");
    return ((await response.json()) as { meta: { total: number } }).meta.total;
  };

  const item = (value: string, field = "email") => JSON.stringify({ table: "user", field, value });
  const items = ["a@x", "b@x", "c@x"].map((value) => item(value));
  const forms: [name: string, content: string, args: string[], lines: number[]][] = [
    ["of-excel.csv", "\ufeff\nName;E-Mail;;\r\nAnn;a@x;;\r\nBob;b@x;;\r\nEve;c@x\r\n;;;\r\n", [], [3, 4, 5]],
    ["values.txt.gz", "a@x\r\nb@x\r\nc@x\r\n", ["--field", "email", "--table", "user"], [1, 2, 3]],
    ["lines.ndjson", `${items[0]}\n\n${item("b@x", "_uid")}\n{"field":"email","value":"c@x"}\n`, [], [1, 3, 4]],
    ["array.json", `[\n${items[0]},\n${items[1]}, ${items[2]}\n]`, [], [2, 3, 3]],
  ];
  for (const [index, [name, content, args, lines]] of forms.entries()) {
    it(`erases the people of ${name}, and prints their lines and request ids`, async () => {
      // Equal files would be one request.
      const domain = `x${index}`;
      const people = ["a", "b", "c"].map((who) => `${who}@${domain}`);
      const messages = people.map((person) => ({ email: person, _uid: person }));
      await collectThrough(service, [...messages, { email: `other@${domain}`, _uid: `other@${domain}` }]);
      const bytes = Buffer.from(content.replaceAll("@x", `@${domain}`));
      const { code, out, err } = await erase(file(name, name.endsWith(".gz") ? gzipSync(bytes) : bytes), ...args);
      expect(code, err).to.equal(0);
      expect(acceptedIn(out).map(([line]) => line)).to.deep.equal(lines);
      expect(err).to.match(/^3 deletions requested$/m);
      for (const person of people) expect(await statusOfProfile(service, `email/${person}`), person).to.equal(404);
      expect(await statusOfProfile(service, `email/other@${domain}`)).to.equal(200);
    });
  }

  it("reads stdin like a file", async () => {
    await collectThrough(service, [{ email: "stdin@x" }]);
    const args = [...runs("commands/erase"), "-", "--url", service.url, "--wait"];
    const env = { ...process.env, ENTITY_METRICS_KEY: adminKey };
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.end("email\nstdin@x\n");
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect(code).to.equal(0);
    expect(acceptedIn(out).map(([line]) => line)).to.deep.equal([2]);
    expect(await statusOfProfile(service, "email/stdin@x")).to.equal(404);
  });

  it("prints the same request ids for a large file in each run, and different ones for equal lines", async () => {
    const path = file("many.txt", `${linesOf("many", 2_500)}many-1\n`);
    const before = await deletions();
    const runs = [await erase(path, "--field", "_uid"), await erase(path, "--field", "_uid")];
    for (const { code, err } of runs) expect([code, err], err).to.deep.equal([0, err]);
    expect(runs[0]?.out).to.equal(runs[1]?.out);
    const accepted = acceptedIn(runs[0]?.out ?? "");
    expect(accepted.map(([line]) => line)).to.deep.equal(Array.from({ length: 2_501 }, (_, i) => i + 1));
    expect(new Set(accepted.map(([, id]) => id)).size).to.equal(2_501);
    expect((await deletions()) - before).to.equal(2_501);
  });

  it("requests new deletions for a file that has changed, even by a blank line", async () => {
    const [first, second] = [
      await erase(file("one.csv", "email\nz@x\n")),
      await erase(file("one.csv", "\nemail\nz@x\n")),
    ];
    const [[, id = ""] = [], [, other = ""] = []] = [first, second].flatMap(({ out }) => acceptedIn(out));
    expect(id).to.match(REQUEST_ID).and.not.equal(other);
  });

  it("stores with --receipts each receipt in a new folder, where the receipt command and others verify it", async () => {
    await collectThrough(service, [{ email: "receipt@x" }]);
    const folder = at("receipts", "of-today");
    const args = [file("receipts.csv", "email,_uid\nreceipt@x,\n,stranger\nbad\n"), "--receipts", folder];
    const { code, out, err } = await erase(...args);
    expect(code, err).to.equal(3);
    expect(err).to.match(/^2 deletions completed, 1 rejected$/m);
    const accepted = acceptedIn(out);
    expect(readdirSync(folder).sort()).to.deep.equal(accepted.map(([, id]) => `${id}.jws`).sort());
    const jwks = (await (await service.fetch("/.well-known/jwks.json")).json()) as JSONWebKeySet;
    const receipts = accepted.map(([, id]) => at("receipts", "of-today", `${id}.jws`));
    for (const [i, path] of receipts.entries()) {
      const verified = await runToEnd("receipt", ["verify", path, "--url", service.url]);
      expect([verified.code, verified.err]).to.deep.equal([0, "The receipt is valid\n"]);
      const { payload } = await compactVerify(readFileSync(path, "utf8"), createLocalJWKSet(jwks));
      expect(JSON.parse(Buffer.from(payload).toString())).to.include({ request_id: accepted[i]?.[1] });
    }
    expect(await erase(...args)).to.deep.include({ code: 3, out });
  });

  for (const [name, ...args] of [
    ["erase", "--format", "json"],
    ["collect", "--stream", "web"],
    ["ingest", "--dimension", "stream"],
  ] as const) {
    it(`ends like other commands at SIGINT without the rest of stdin: ${name}`, async () => {
      const env = { ...process.env, ENTITY_METRICS_KEY: adminKey, ENTITY_METRICS_URL: service.url };
      const child = spawn(process.execPath, [...runs(`commands/${name}`), "-", ...args], { cwd: root, env });
      const exit = once(child, "exit");
      let err = "";
      child.stderr.on("data", (chunk) => {
        err += chunk;
      });
      child.stdin.write("{\n".repeat(1_000));
      await until("the first lines are rejected", () => err.includes(":20: rejected"));
      child.kill("SIGINT");
      expect(await exit).to.deep.equal([130, null]);
      expect(err).to.match(/^Stopped/m);
      child.stdin.destroy();
    });
  }

  it("ends when stdout is closed, and reports where", async () => {
    const args = [file("closed.txt", linesOf("closed", 5_000)), "--field", "_uid"];
    const { child, ended, err } = startCommand("erase", ["--url", service.url, ...args]);
    child.stdout?.destroy();
    expect(await ended).to.equal(1);
    expect(err()).to.match(/stdout cannot be written \(EPIPE\)/);
    expect(err())
      .to.match(/Running the same command again is safe/)
      .and.not.match(/ at .*\.ts|Warning/);
  });

  const good = () => file("good.csv", "email\nx@x\n");
  itRefuses(
    (args) => erase(...args),
    [
      ["no file", () => [], 2, /missing required argument 'file'/],
      ["an empty table", () => [good(), "--table", ""], 2, /^--table is the name of a table/m],
      ["an empty field", () => [good(), "--field", ""], 2, /^--field is the name of an identity field/m],
      ["values without a field", () => [good(), "--format", "values"], 2, /^--format values needs --field/m],
      ["an unknown format", () => [good(), "--format", "xml"], 2, /Allowed choices are csv, json, values/],
      ["rejections in the file", () => [good(), "--rejects", good()], 2, /^--rejects is one of the input files/m],
      ["a missing file", () => ["not-there"], 1, /^not-there: no such file$/m],
      ["an empty file", () => [file("empty.csv", "email\n")], 1, /empty\.csv contains no identity$/m],
      ["receipts in a file", () => [good(), "--receipts", good()], 1, /good\.csv cannot be made \(EEXIST\)$/m],
    ],
  );

  it("refuses a key without the scope before any deletion is accepted", async () => {
    const { key } = await newKey(service, ["entity:read"]);
    const before = await deletions();
    const { code, err } = await runToEnd("erase", [good(), "--url", service.url], { ENTITY_METRICS_KEY: key });
    expect(code).to.equal(1);
    expect(err).to.match(/^ENTITY_METRICS_KEY: The key lacks the scope entity:delete\. Nothing was confirmed as sent/m);
    expect(await deletions()).to.equal(before);
  });
});

describe("erase on a service with problems", function () {
  this.timeout(120_000);
  const { file } = folderOfSuite();

  it("writes no identity of the file to stdout, stderr or the log of the service (P7)", async () => {
    const dir = dataFolder();
    const child = await startReal(dir, { LOG_LEVEL: "debug" });
    await collectThrough(child, [{ email: "canary-1@x" }]);
    const files: [string, ...string[]][] = [
      [file("columns.csv", 'email,_uid\ncanary-1@x,\n,canary-2\ncanary-3\n"canary-4\n')],
      [file("no-header.csv", "canary-0@x\ncanary-1@x\ncanary-2@x\n")],
      [file("items.csv", "table,field,value\ncanary-5,email,x\nuser,canary-6,x\nuser,email,null\n")],
      [file("items-header.csv", "canary-5,field,value\nx,email,canary-7\n")],
      [
        file(
          "lines.ndjson",
          '{"canary-6":1}\n{"field":"email","value":["canary-8"]}\ncanary-9\n"canary"\n{"a":"canary',
        ),
      ],
      [file("array.json", '[{"field":"email","value":"canary-10"},canary-11]')],
      [file("values.txt", `canary-12@x\n${"canary".repeat(300)}\n`), "--field", "email", "--wait"],
    ];
    const codes: unknown[] = [];
    for (const args of files) {
      const { code, out, err } = await runToEnd("erase", [...args, "--url", child.url]);
      expect(out + err).to.not.contain("canary");
      codes.push(code);
    }
    expect(codes).to.deep.equal([3, 3, 3, 1, 3, 3, 3]);
    expect(child.log()).to.contain("/api/deletion").and.not.contain("canary");
  });

  it("reports how many deletions are completed when it is interrupted, and waits for the rest in another run", async () => {
    const remote = await remoteSystem();
    remote.trouble = "status";
    const service = await startService({ deletions: { targets: [{ name: "crm", url: remote.url, token: "t" }] } });
    const args = [file("open.csv", "email\na@x\nb@x\n"), "--wait", "--url", service.url];
    const { child, ended, out, err } = startCommand("erase", args);
    await until("the command waits", () => remote.calls.length > 0);
    child.kill("SIGTERM");
    expect(await ended).to.equal(130);
    expect(err()).to.match(
      /^Stopped\. All deletions are accepted, and 0 of 2 are known to be completed\. Running the/m,
    );
    expect(acceptedIn(out())).to.have.length(2);
    remote.trouble = undefined;
    const again = await runToEnd("erase", args);
    expect([again.code, again.out], again.err).to.deep.equal([0, out()]);
    expect(again.err).to.match(/^2 deletions completed$/m);
  });
});
