import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { dropFromServers } from "./support/drop-from-servers.js";
import { type FilledFolder, filledFolder } from "./support/filled-folder.js";
import { commandBlocks } from "./support/readme.js";
import { influxdbToken, influxdbUrl, mongodbUrl, onServers, ownName, redisUrl } from "./support/servers.js";
import { startInShell } from "./support/shell-service.js";
import { root } from "./support/source-tree.js";

onServers(["mongodb", "influxdb", "bullmq"], "README", function () {
  this.timeout(120_000);
  let dir: string;
  let filled: FilledFolder;
  const name = ownName();
  before(async () => {
    dir = dataFolder();
    for (const file of ["package.json", "scripts", "config", "dist", ".npmrc"])
      symlinkSync(join(root, file), join(dir, file));
    filled = await filledFolder();
    cpSync(filled.dir, join(dir, "data"), { recursive: true });
  });
  after(async () => {
    await dropFromServers(name);
  });

  it("has commands that migrate a folder to servers and start the service there", async () => {
    const [block] = commandBlocks("README.md").filter(({ run }) => run === "servers");
    expect(block?.script).to.match(/mongodb:[^']*[?&]replicaSet=/);
    const script = [
      [/'mongodb:[^']*'/, `'${mongodbUrl(name)}'`],
      [/'influxdb:[^']*'/, `'${influxdbUrl(name)}'`],
      [/'redis:[^']*'/, `'${redisUrl(name)}'`],
      [/'my-token'/, `'${influxdbToken()}'`],
    ].reduce((text, [from, to]) => text.replace(from as RegExp, to as string), block?.script ?? "");
    const service = await startInShell(script, { cwd: dir, env: { ...process.env, PORT: "0", LOG_LEVEL: "error" } });
    expect(service.output()).to.contain("Everything was copied");
    const headers = { authorization: filled.key };
    const answer = await fetch(`${service.address}/api/me/email/person-2%40example.com`, { headers });
    expect(((await answer.json()) as { data: { _uid: string } }).data._uid).to.equal("person-2");
  });
});
