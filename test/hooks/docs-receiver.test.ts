import { readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { collectThrough } from "../support/requests.js";
import { startService, type TestService } from "../support/service.js";
import { root } from "../support/source-tree.js";
import { until } from "../support/until.js";

describe("the receiver of docs/hooks.md", function () {
  this.timeout(60_000);
  let service: TestService;
  let receiver: { readonly members: Map<string, string[][]>; readonly server: Server };

  before(async () => {
    service = await startService();
    const [, code = ""] = /```js\n([\s\S]*?)```/.exec(readFileSync(join(root, "docs/hooks.md"), "utf8")) ?? [];
    const file = join(service.dir, "receiver.mjs");
    writeFileSync(file, code.replace("8081", "0").replace("process.env.SERVICE", JSON.stringify(service.url)));
    receiver = await import(pathToFileURL(file).href);
    const { dir } = service;
    await service.stop({ keep: true });
    const url = `http://127.0.0.1:${(receiver.server.address() as AddressInfo).port}/`;
    service = await startService({ hooks: [{ name: "crm", url, token: "t", segments: ["*"] }] } as never, { dir });
  });
  after(async () => {
    await service.stop();
    receiver.server.close();
  });

  it("takes signed requests alone, and knows the members from them", async () => {
    const ann = { user_id: "7", email: "ann@example.org" };
    await collectThrough(service, [{ ...ann, segments: { add: ["vip"], remove: [] } }]);
    await until("Ann is a member", () => receiver.members.get("vip")?.length === 1);
    expect(receiver.members.get("vip")?.[0]?.sort()).to.deep.equal(["email:ann@example.org", "user_id:7"]);
    const port = (receiver.server.address() as AddressInfo).port;
    const forged = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: { "x-signature": await signatureOfAnother() },
      body: JSON.stringify({ events: [{ segment: "vip", change: "deleted" }] }),
    });
    expect(forged.status).to.equal(401);
    await collectThrough(service, [{ ...ann, segments: { add: [], remove: ["vip"] } }]);
    await until("Ann has left", () => receiver.members.get("vip")?.length === 0);
  });

  /** A signature by the right key, over something else: a receipt. */
  async function signatureOfAnother(): Promise<string> {
    const answer = await service.fetch("/api/entity/user/email/ben@example.org", { method: "DELETE" });
    const { request_id } = ((await answer.json()) as { data: { request_id: string } }).data;
    let receipt = "";
    await until("the deletion is completed", async () => {
      const response = await service.fetch(`/api/deletion/${request_id}/receipt`);
      receipt = await response.text();
      return response.status === 200;
    });
    return receipt;
  }
});
